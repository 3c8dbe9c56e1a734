/* What NameNodes answer, for scripts of web_server.h. */
#ifndef TONY_TEST_SCHEDULER_WEB_WORDS_H
#define TONY_TEST_SCHEDULER_WEB_WORDS_H

#define JSON(status, body)                                                                         \
	status " X\r\nConnection: close\r\nContent-Type: application/json\r\n\r\n" body
#define EXCEPTION(status, class)                                                                   \
	JSON(status, "{\"RemoteException\":{\"exception\":\"" class "\",\"javaClassName\":"        \
								    "\"x." class "\",\"message\":" \
										 "\"no\"}}")
#define FILE_OF(name, length)                                                                      \
	"{\"accessTime\":0,\"group\":\"g\",\"length\":" length ",\"modificationTime\":5,"          \
	"\"owner\":\"o\",\"pathSuffix\":\"" name "\",\"permission\":\"600\",\"type\":\"FILE\"}"
#define LIST(...) JSON("200", "{\"FileStatuses\":{\"FileStatus\":[" __VA_ARGS__ "]}}")
#define LOCATION  JSON("200", "{\"Location\":\"http://@/data?op=X\"}")
#define FAILS	  EXCEPTION("403", "IOException")

#endif

"""A database of counters: POST /name increments one, GET /name returns it. Like real databases, it starts slowly."""

import collections
import http.server
import time

counters: collections.Counter[str] = collections.Counter()


class Counters(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.answer(counters[self.path])

    def do_POST(self):
        counters[self.path] += 1
        self.answer(counters[self.path])

    def answer(self, number: int):
        body = f"{number}\n".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


print("database: looking at what was written before", flush=True)
time.sleep(1)
print("database: ready", flush=True)
http.server.ThreadingHTTPServer(("", 8000), Counters).serve_forever()

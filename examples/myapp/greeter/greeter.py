"""Greets the name in the path."""

import http.server

GREETING = "Hello"


class Greeter(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = f"{GREETING}, {self.path.strip('/')}!\n".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


print(f"greeter: {GREETING}", flush=True)
http.server.ThreadingHTTPServer(("", 8000), Greeter).serve_forever()

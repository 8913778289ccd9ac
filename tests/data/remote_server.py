#!/usr/bin/env python3
"""A folder over HTTP for tests of files from afar: ranges, ETags, faults, and S3's signatures (SigV4), which are checked
by their definition (docs.aws.amazon.com, "Authenticating Requests: AWS Signature Version 4").

    remote_server.py FOLDER [--faults SHARE] [--seed N] [--keys ID:SECRET[:TOKEN]] [--log FILE]

prints its port. --faults: that share of requests is answered by 503, cut off in the middle, or reset, in turn.
--keys: requests without a right signature get 403, ExpiredToken where their token is EXPIRED. --log: a line for each
request: method, path, range, answer.
"""
import argparse, hashlib, hmac, http.server, os, random, socket, struct, sys, threading, urllib.parse

parser = argparse.ArgumentParser()
parser.add_argument("folder")
parser.add_argument("--faults", type=float, default=0)
parser.add_argument("--seed", type=int, default=1)
parser.add_argument("--keys", default="")
parser.add_argument("--log", default="")
options = parser.parse_args()
chance, lock, faulty = random.Random(options.seed), threading.Lock(), [0]


def sign(key, text):
    return hmac.new(key, text.encode(), hashlib.sha256).digest()


def refused(request):
    """Why a request's signature is none; None: it is right."""
    key, secret, *token = options.keys.split(":")
    head = request.headers
    if not head.get("Authorization", "").startswith("AWS4-HMAC-SHA256 "):
        return "AccessDenied"
    fields = dict(f.strip().split("=", 1) for f in head["Authorization"][len("AWS4-HMAC-SHA256 "):].split(","))
    scope = fields["Credential"].split("/", 1)
    names = fields["SignedHeaders"].split(";")
    if scope[0] != key:
        return "InvalidAccessKeyId"
    if token and head.get("x-amz-security-token") != token[0]:
        return "ExpiredToken" if head["x-amz-security-token"] == "EXPIRED" else "InvalidToken"
    if not {"host", "x-amz-date"} <= set(names) or names != sorted(names):
        return "AuthorizationHeaderMalformed"
    if any(n.lower().startswith("x-amz-") and n.lower() not in names for n in head.keys()):
        return "AccessDenied: an x-amz header is not signed"
    path, _, query = request.path.partition("?")
    canonical = "\n".join([request.command, path, query] + [f"{n}:{' '.join(head[n].split())}" for n in names] +
                          ["", fields["SignedHeaders"], head.get("x-amz-content-sha256") or "missing"])
    text = "\n".join(["AWS4-HMAC-SHA256", head["x-amz-date"], scope[1], hashlib.sha256(canonical.encode()).hexdigest()])
    last = ("AWS4" + secret).encode()
    for part in scope[1].split("/"):
        last = sign(last, part)
    right = hmac.new(last, text.encode(), hashlib.sha256).hexdigest()
    return None if hmac.compare_digest(right, fields["Signature"]) else "SignatureDoesNotMatch"


class Server(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def note(self, answer):
        if options.log:
            with lock, open(options.log, "a") as f:
                f.write(f"{self.command} {self.path} {self.headers.get('Range', '-')} {answer}\n")

    def say(self, status, body=b"", **headers):
        self.note(status)
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def fault(self):
        """Which of the faults this request has; 0: none."""
        with lock:
            if chance.random() >= options.faults:
                return 0
            faulty[0] += 1
            return (faulty[0] - 1) % 3 + 1

    def do_GET(self):
        if options.keys and (why := refused(self)):
            return self.say(403, f"<?xml version='1.0'?><Error><Code>{why}</Code></Error>".encode())
        fault = self.fault()
        if fault == 1:
            return self.say(503, b"slow down", Retry_After="0")
        name = os.path.normpath(os.path.join(options.folder, urllib.parse.unquote(self.path.split("?")[0]).lstrip("/")))
        if not os.path.isfile(name):
            return self.say(404, b"<Error><Code>NoSuchKey</Code></Error>")
        data = open(name, "rb").read()
        tag = '"%s"' % hashlib.md5(data).hexdigest()
        if self.headers.get("If-None-Match") == tag:
            return self.say(304, ETag=tag)
        if self.path.endswith("?unframed"):  # HTTP/1.0's way: the contents end where the connection does
            self.note("unframed")
            self.send_response(200)
            self.end_headers()
            self.wfile.write(data)
            self.close_connection = True
            return
        begin, wants = 0, self.headers.get("Range", "")
        if wants.startswith("bytes=") and self.headers.get("If-Range", tag) == tag:
            begin = int(wants[6:].split("-")[0])
        part = data[begin:]
        self.note({0: 206 if begin else 200, 2: "cut", 3: "reset"}[fault])
        self.send_response(206 if begin else 200)
        self.send_header("ETag", tag)
        self.send_header("Accept-Ranges", "bytes")
        if begin:
            self.send_header("Content-Range", f"bytes {begin}-{len(data) - 1}/{len(data)}")
        self.send_header("Content-Length", str(len(part)))
        self.end_headers()
        self.wfile.write(part[: len(part) // 2] if fault else part)
        if fault:
            self.wfile.flush()
            if fault == 3:  # a reset, not an end
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.close_connection = True
            self.connection.close()

    def log_message(self, *args):
        pass


class Many(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, address):
        if not isinstance(sys.exc_info()[1], (OSError, ValueError)):
            super().handle_error(request, address)


server = Many(("127.0.0.1", 0), Server)
print(server.server_address[1], flush=True)
server.serve_forever()

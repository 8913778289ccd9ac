"""Shards from a disk, over HTTP and from S3, by servers that fail: whether samples are the same, how fast they come beside those from the disk, and how much the folder has that keeps what is fetched.

    python bench/remote.py build/release/bench/bench_remote [SHARDS [PICTURES [EPOCHS]]]     # default: 12 shards of 250 pictures, 4 epochs

Needs Pillow and NumPy, and for the rows of S3 moto (pip install 'moto[server,s3]'; 5.2.5 for the figures of docs/data.md). In front of the server of HTTP (tests/data/remote_server.py) and of moto stands
a relay that answers FAULTS (10 %) of the requests by 503, a connection that is reset in the middle of the contents, or contents that end in the middle, in turn. A speed is the median of ROUNDS (3) pairs with the disk in turn. Shards are of pictures of 160 x 160, JPEG.
"""
import http.client
import http.server
import io
import json
import os
import pathlib
import random
import socket
import statistics
import struct
import subprocess
import sys
import tarfile
import tempfile
import threading
import time

import numpy as np
import PIL.Image

bench = sys.argv[1]
SHARDS, PICTURES, EPOCHS = (int(sys.argv[i]) if len(sys.argv) > i else n for i, n in ((2, 12), (3, 250), (4, 4)))
FAULTS, WORKERS, ROUNDS = float(os.environ.get("FAULTS", 0.1)), os.environ.get("WORKERS", "1"), int(os.environ.get("ROUNDS", 3))
here = pathlib.Path(__file__).resolve().parent
work = tempfile.TemporaryDirectory()
root = pathlib.Path(work.name)
(root / "set").mkdir()


def write_shards():
    rng = np.random.default_rng(1)
    for k in range(SHARDS):
        with tarfile.open(root / "set" / f"{k:03d}.tar", "w", format=tarfile.USTAR_FORMAT) as tar:
            for i in range(PICTURES):
                small = rng.integers(0, 256, (20, 20, 3), dtype=np.uint8)
                picture = io.BytesIO()
                PIL.Image.fromarray(small).resize((160, 160), PIL.Image.BICUBIC).save(picture, "JPEG", quality=90)
                for name, data in ((f"{i:05d}.jpg", picture.getvalue()), (f"{i:05d}.cls", b"%d" % (i % 10))):
                    info = tarfile.TarInfo(name)
                    info.size = len(data)
                    tar.addfile(info, io.BytesIO(data))


class Relay(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    port, share, chance, lock, faults, seen = 0, 0.0, random.Random(1), threading.Lock(), 0, 0

    def do_GET(self):
        me = type(self)
        with me.lock:
            me.seen += 1
            fails = me.chance.random() < me.share
            kind = me.faults % 3 + 1 if fails else 0
            me.faults += fails
        if kind == 1:
            self.send_response(503)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        other = http.client.HTTPConnection("127.0.0.1", me.port)
        other.putrequest("GET", self.path, skip_host=True, skip_accept_encoding=True)
        for name, value in self.headers.items():
            other.putheader(name, value)
        other.endheaders()
        answer = other.getresponse()
        self.send_response_only(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in ("connection", "transfer-encoding"):
                self.send_header(name, value)
        self.end_headers()
        left = int(answer.getheader("Content-Length", 0))
        left = left // 2 if kind else left
        while left > 0 and (part := answer.read(min(left, 1 << 18))):
            self.wfile.write(part)
            left -= len(part)
        other.close()
        if kind:
            self.wfile.flush()
            if kind == 3:
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


def relay(port, share):
    handler = type("RelayTo", (Relay,), {"port": port, "share": share, "chance": random.Random(1), "faults": 0})
    server = Many(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_address[1], handler


def serve_http():
    server = subprocess.Popen([sys.executable, here.parent / "tests/data/remote_server.py", root], stdout=subprocess.PIPE, text=True)
    return server, int(server.stdout.readline())


def serve_s3():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    try:
        import boto3
        import moto  # noqa: F401
    except ImportError:
        return None, 0
    server = subprocess.Popen([sys.executable, "-m", "moto.server", "-p", str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    client = boto3.client("s3", endpoint_url=f"http://127.0.0.1:{port}", region_name="us-east-1", aws_access_key_id="KEY", aws_secret_access_key="SECRET")
    for _ in range(100):
        try:
            client.create_bucket(Bucket="bucket")
            break
        except Exception:
            time.sleep(0.2)
    for shard in sorted((root / "set").iterdir()):
        client.upload_file(str(shard), "bucket", f"set/{shard.name}")
    return server, port


def measure(name, base, budget, handler=None, **environment):
    before = handler.faults if handler else 0
    with tempfile.TemporaryDirectory() as folder:
        shards = [f"{base}/{k:03d}.tar" for k in range(SHARDS)]
        run = subprocess.run([bench, folder, str(budget), str(EPOCHS), WORKERS, *shards], env=os.environ | environment, capture_output=True, text=True)
        if run.returncode:
            sys.exit(f"{name}: {run.stderr}")
        r = json.loads(run.stdout.splitlines()[-1])
        r["faults"] = (handler.faults if handler else 0) - before
        r["epochs"] = [float(line.split()[2]) for line in run.stdout.splitlines() if line.startswith("epoch")]
        return r


write_shards()
size = sum(p.stat().st_size for p in (root / "set").iterdir())
plenty, little = 10**10, 3 * size // SHARDS
print(f"{SHARDS} shards, {SHARDS * PICTURES} pictures, {size / 1e6:.1f} MB, {EPOCHS} epochs, {WORKERS} workers; {FAULTS:.0%} of requests fail\n")
print("| shards | folder's budget, MB | first epoch | further ones | of the disk's speed, all epochs | the same samples | requests, failed | folder's most, MB |")
print("|---|---|---|---|---|---|---|---|")
http_server, http_port = serve_http()
s3_server, s3_port = serve_s3()
keys = {"AWS_ACCESS_KEY_ID": "KEY", "AWS_SECRET_ACCESS_KEY": "SECRET", "AWS_REGION": "us-east-1"}
rows = [("disk", None, None, None)]
for share in (0, FAULTS):
    for budget in (plenty, little):
        how = ", no faults" if not share else ""
        rows.append((f"HTTP{how}", http_port, share, budget))
        if s3_port:
            rows.append((f"S3 (moto){how}", s3_port, share, budget))
disk, failed = None, 0
try:
    for name, port, share, budget in rows:
        if port is None:
            r = disk = measure(name, root / "set", plenty)
        else:
            at, handler = relay(port, share)
            base, more = (f"http://127.0.0.1:{at}/set", {}) if port == http_port else ("s3://bucket/set", keys | {"AWS_ENDPOINT_URL": f"http://127.0.0.1:{at}"})
            pairs = []  # in turn, for what else the machine does
            for _ in range(ROUNDS):
                before = measure("disk", root / "set", plenty)["per_second"]
                r = measure(name, base, budget, handler, **more)
                pairs.append(r["per_second"] / before)
        same = r["hash"] == disk["hash"] and r["samples"] == disk["samples"]
        within = port is None or r["folder"] <= budget
        failed += not same or not within
        further = sum(r["epochs"][1:]) / max(1, len(r["epochs"]) - 1)
        share_of = 100.0 if port is None else 100 * statistics.median(pairs)
        print(f"| {name} | {'' if budget in (None, plenty) else format(budget / 1e6, '.1f')} | {r['epochs'][0]:.0f} | {further:.0f} | {share_of:.0f} % | {'yes' if same else 'NO'} | "
              f"{r['requests']}, {r['faults']} | {r['folder'] / 1e6:.1f}{'' if within else ' TOO MUCH'} |", flush=True)
finally:
    http_server.kill()
    if s3_server:
        s3_server.kill()
sys.exit(failed != 0)

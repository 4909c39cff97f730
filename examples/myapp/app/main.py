"""Counts visits in the database, and returns the greeting of the greeter service."""

import os
import urllib.request

from fastapi import FastAPI

DB = os.environ.get("DB", "http://db:8000")
GREETER = os.environ.get("GREETER", "http://greeter:8000")
WELCOME = "Welcome"

app = FastAPI()


def ask(address: str, method: str = "GET") -> str:
    request = urllib.request.Request(address, method=method)
    with urllib.request.urlopen(request, timeout=5) as answer:
        return answer.read().decode().strip()


@app.get("/")
def home():
    visits = int(ask(f"{DB}/visits", method="POST"))
    print(f"visit {visits}", flush=True)
    return {"welcome": WELCOME, "visits": visits}


@app.get("/hello/{name}")
def hello(name: str):
    return {"greeting": ask(f"{GREETER}/{name}")}


@app.get("/healthz")
def healthy():
    return {}

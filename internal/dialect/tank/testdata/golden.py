"""Makes golden.json with the stepper and the criteria of the PyPI wheel yandextank 2.0.11:

    python3 -m venv v && v/bin/pip install yandextank==2.0.11 numpy pandas "setuptools<71"
    v/bin/python internal/dialect/tank/testdata/golden.py > internal/dialect/tank/testdata/golden.json
"""
import io, json, random, sys, tempfile, os, types

stdout, sys.stdout = sys.stdout, sys.stderr  # the stepper prints its progress
import numpy as np
from yandextank.stepper import load_plan, instance_plan, info
from yandextank.stepper.main import Stepper, LoadProfile

out = {"rps": {}, "instances": {}, "ammo": [], "autostop": []}
RPS = ["const(10,1s)", "line(1,10,10s)", "line(1, 5, 4s)", "step(1,5,2,1s)", "step(5,1,3,1s)", "const(3,10s)",
       "line(10,1,10s)", "line(0,7,3s)", "const(2.5,3s)", "const(0.1,30s)", "line(1,1,5s)", "step(1,2,3,2)",
       "line(1,10,2s) const(5,1s) step(1,4,1,1s)", "const(0,2s) const(3,1s)", "const(1.7,2.5s) const(1.7,2.5s)",
       "line(5,5,1m)", "line(3,17,1m30s)", "step(10,50,10,5s)", "const(7,0.3s)\nconst(49,3s)", "line(100,0,3s)",
       "const(333,2s)", "line(1,300,4s) const(300,1s) line(300,1,4s)", "step(2,7,2.5,2s)"]
random.seed(1)
for _ in range(40):
    a, b, t = random.randint(0, 60), random.randint(1, 60), random.randint(1, 12)
    RPS.append(random.choice([f"line({a},{b},{t}s)", f"const({b},{t}s)", f"step({a},{b},{random.randint(1, 9)},{t}s)",
                              f"const({b / 8},{t}s) line({a},{b},{t}s)"]))
def moment():
    return random.choice(["3", "2s", "1.5s", "0.7s", "0m2s", "4.25"])
def step():
    a, b, r = random.randint(0, 40), random.randint(1, 40), random.choice([1, 2, 3.5, 7])
    return random.choice([f"line({a},{b},{moment()})", f"const({r},{moment()})", f"step({a}, {b}, {r}, {moment()})",
                          f"line({a / 4},{b / 2}, {moment()})"])
for k in range(30):
    RPS.append(random.choice([" ", "\n", ""]).join(step() for _ in range(1 + k % 4)))
for s in RPS:
    try:
        lp = load_plan.create(LoadProfile("rps", s).schedule)
        out["rps"][s] = [list(lp), lp.get_duration()]
    except Exception as e:
        print(s, repr(e))
INSTANCES = ["ramp(5, 4s)", "ramp(5, 4s) wait(5s) ramp(5,4s)", "wait(5s) ramp(5, 0)", "line(1, 9, 4s)",
             "const(3, 5s) line(7, 11, 2s)", "step(2, 10, 2, 3s)", "step(100,950,100,30s)", "const(3,1s) line(5,10,5s)",
             "line(1, 100, 60s)", "const(20, 1m)"]
for s in INSTANCES:
    lpb = instance_plan.LoadPlanBuilder().add_all_steps(LoadProfile("instances", s).schedule)
    lp = lpb.create()
    out["instances"][s] = [next(lp) for _ in range(lpb.instances)]

URI = b"[Host: example.org]\n[Connection: close]\n/?drg tag1\n/\n\n/buy tag2\n[Cookie: test]\n/buy/?rt=0&station_to=7\n"
POST = b"[Host: example.org]\n[Connection: close]\n5 /route/?rll=50 good\nclass\n10 /route/ bad\nhello!clas\n0 /empty\n"
PHANTOM = b"73 good\nGET / HTTP/1.0\r\nHost: xxx.tanks.example.com\r\nUser-Agent: xxx (shell 1)\r\n\r\n\n0\n77 never\n"
PHANTOM2 = b"18\nGET /a HTTP/1.0\r\n\r\n20 t\nGET /abc HTTP/1.0\r\n\r\n"
ACCESS = (b'1.1.1.1 - - [x] "GET /a?b=c HTTP/1.1" 200 1 "-"\n1.1.1.1 - - [x] "POST /a HTTP/1.1" 200 1 "-"\nnonsense\n'
          b'1.1.1.1 - - [x] "GET /b/c/d HTTP/1.0" 200 1 "-"\n')
CASES = [
    dict(kind="uri", text=URI, loop=3), dict(kind="uri", text=URI, loop=2, headers=["[Host: other]", "[X: y]"], http="1.0"),
    dict(kind="phantom", text=URI, loop=1), dict(kind="uripost", text=POST, loop=2, headers=["X: y"]),
    dict(kind="phantom", text=PHANTOM, loop=2), dict(kind="phantom", text=PHANTOM2, loop=2),
    dict(kind="access", text=ACCESS, loop=2, headers=["Host: h"]),
    dict(kind="uri", text=URI, loop=2, autocases=1, enum=True), dict(kind="uri", text=URI, loop=1, autocases="uri"),
    dict(kind="access", text=ACCESS, loop=2, autocases=2, enum=True),
    dict(kind="uri", text=URI, loop=2, chosen=["tag1", "tag2"]),
]
CRLF = b"[Host: example.org]\r\n[Connection: close]\r\n/?drg tag1\r\n/\r\n\r\n/buy\ttag2\r\n"
ODD = ("[Host: example.org]\n[Host:other]\n[ X-A :  b c ]\n/a  two  words\n  /b  t\n/c \n[host: low]\n/d тег\n[X-A: d]\n"
       "/e#f t|u\n/g?x=[1] #5\n[X:y:z]\n/h").encode()
POSTS = b"[Host: e]\r\n3 /a t\r\nabc\r\n5  /b  t  u\na\nb\nc\n\n[X: y]\n0 /c\n2 /d\n\r\n\n1 /e\nx"
CHUNKS = b"18 a b\r\nGET /a HTTP/1.0\r\n\r\n\n\n  20\tt \nGET /abc HTTP/1.0\r\n\r\n\r\n18 #x\nGET /a HTTP/1.0\r\n\r\n"
LOG = (b'1.1.1.1 - - [x] "GET  /a  HTTP/1.1" 200\r\n1.1.1.1 - - [x] "GET /a b HTTP/1.1" 200 1\n1 "get /a HTTP/1.1"\n'
       b'1 "HEAD /a HTTP/1.1"\n1 "GET /x/ HTTP/2.0" "q"\n1 "GET /y HTTP"\n1 "GET /z/w" 1\n\n1 "" 3\n1 "GET /last?a=b HTTP/1.1"')
CASES += [dict(c, text=t, kind=k) for k, t in [("uri", CRLF), ("uri", ODD), ("uripost", POSTS), ("phantom", CHUNKS), ("access", LOG)]
          for c in [dict(loop=1), dict(loop=2, headers=["[Host: h]", "[A: b]", "[A: c]"]), dict(loop=2, autocases=1, enum=True),
                    dict(loop=1, autocases=3), dict(loop=2, autocases="uri", enum=True)]]
for c in CASES:
    with tempfile.NamedTemporaryFile(delete=False) as f:
        f.write(c["text"])
    st = Stepper(None, rps_schedule=LoadProfile("rps", "const(1000,1s)").schedule, http_ver=c.get("http", "1.1"),
                 ammo_file=f.name, loop_limit=c["loop"], headers=[h.strip("[]") for h in c.get("headers", [])],
                 autocases=c.get("autocases", 0), enum_ammo=c.get("enum", False), ammo_type=c["kind"],
                 chosen_cases=[x.encode() for x in c.get("chosen", [])], use_cache=False)
    got = []
    try:
        for ts, marker, missile in st.af:
            info.status.inc_ammo_count()
            marker = marker.decode() if isinstance(marker, bytes) else marker
            got.append([marker or "", missile.decode()])
    except Exception as e:
        print(c, repr(e))  # such as numbers of tags in the list, which it can't write
        got = None
    os.unlink(f.name)
    if got is None:
        continue
    out["ammo"].append(dict({k: v for k, v in c.items() if k != "text"}, text=c["text"].decode(), want=got))

from yandextank.aggregator.aggregator import Worker, phantom_config
from yandextank.plugins.Autostop import criterions as cr, cumulative_criterions as cum
import pandas as pd
CLASSES = {k.get_type_string(): k for k in [cr.AvgTimeCriterion, cr.NetCodesCriterion, cr.HTTPCodesCriterion,
    cr.QuantileCriterion, cum.TotalFracTimeCriterion, cum.TotalHTTPCodesCriterion, cum.TotalNetCodesCriterion,
    cum.TotalNegativeHTTPCodesCriterion, cum.TotalNegativeNetCodesCriterion, cum.TotalHTTPTrendCriterion]}
owner = types.SimpleNamespace(add_counting=lambda x: None)
RULES = ["time(100ms,3s)", "time(90,2)", "time(120ms, 2s, a)", "http(5xx,10%,3s)", "http(503,4,2s)", "http(5xx,20%,2s,b)",
    "net(xx,1,2s)", "net(110,10%,3s)", "net(1xx,2%,1s,a)", "quantile(95,250ms,3s)", "quantile(50,95ms,2s,b)",
    "total_time(150ms,30%,3s)", "total_time(201ms,12%,4s)", "total_http(5xx,15%,4s)", "total_http(503,12,3s)",
    "total_net(110,3%,5s)", "total_net(xx,2,3s,a)", "negative_http(2xx,15%,3s)", "negative_http(2xx,20,4s)",
    "negative_net(0,4%,5s)", "http_trend(2xx,6s)", "http_trend(5xx,4s)"]
rng = random.Random(7)
for run in range(4):
    seconds, data = [], []
    for sec in range(40):
        rows = []
        for _ in range(rng.randint(3, 30)):
            us = int(rng.expovariate(1 / (60_000 + sec * 2500.0)))
            net = rng.choice([0] * 40 + [110, 111])
            proto = 0 if net else rng.choice([200] * (30 - sec // 2) + [503] * (1 + sec // 8) + [404])
            rows.append([rng.choice("ab"), us, proto, net])
        seconds.append(rows)
        df = pd.DataFrame(rows, columns=["tag", "interval_real", "proto_code", "net_code"])
        for col in phantom_config:
            if col not in df:
                df[col] = 0
        w = Worker(phantom_config, True)
        data.append({"ts": sec, "overall": w.aggregate(df), "tagged": {t: w.aggregate(g) for t, g in df.groupby("tag")}})
    for rule in RULES:
        name, args = rule.split("(")
        c = CLASSES[name](owner, args.rstrip(")"))
        end, why = -1, ""
        for sec, d in enumerate(data):
            if c.notify(d, {"metrics": {"reqps": 1, "instances": 1}}):
                end, why = sec, c.explain()
                break
        out["autostop"].append({"run": run, "rule": rule, "ends": end, "why": why})
    out.setdefault("seconds", []).append(seconds)

# limit and instances look at the clock and at the instances that are busy.
clock = [0.0]
cr.time = types.SimpleNamespace(time=lambda: clock[0])
MOST = 50
info_of = types.SimpleNamespace(get_info=lambda: types.SimpleNamespace(instances=MOST))
core = types.SimpleNamespace(get_option=lambda section, name, default=None: section == "phantom",
                             get_plugin_of_type=lambda kind: info_of)
owner = types.SimpleNamespace(add_counting=lambda x: None, core=core)
USED = {"limit": cr.TimeLimitCriterion, "instances": cr.UsedInstancesCriterion}
out["used"] = {"most": MOST, "busy": [rng.choice([rng.randint(0, MOST), 45, 50]) for _ in range(60)], "rules": []}
for rule in ["limit(10s)", "limit(1m)", "limit(2)", "limit(0.5m)", "instances(80%,3s)", "instances(40,4s)", "instances(90%, 2s)",
             "instances(49,1s)", "instances(100%,1s)", "instances(12.5%,6s)"]:
    name, args = rule.split("(")
    clock[0] = 0.0
    try:
        c = USED[name](owner, args.rstrip(")"))
    except Exception as e:
        out["used"]["rules"].append({"rule": rule, "refused": str(e)})
        continue
    end, why = -1, ""
    for sec, busy in enumerate(out["used"]["busy"]):
        clock[0] = sec + 1.5
        if c.notify({}, {"metrics": {"reqps": 1, "instances": busy}}):
            end, why = sec, c.explain()
            break
    out["used"]["rules"].append({"rule": rule, "ends": end, "why": why})
json.dump(out, stdout, separators=(",", ":"))

"""An agent that means harm, in bubblewrap behind the gateway: each of its ways has a clear end."""

import socket
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from agent_world import GOOD, agent_file, agent_output, calls_of, printed_json, run_agent
from chat_server import Answer, chat_server

from autoreproduce.plugins.external_agents.gateway import server as gateway_server


@pytest.fixture(autouse=True)
def code_of_the_agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUTOREPRODUCE_CODE_SMALL", str(tmp_path / "agent-code"))


def outcome_of(tmp_path: Path, script: str, replies: Any = None, **settings: Any) -> Any:
    with chat_server(replies or (lambda request: "answer")) as server:
        done = run_agent(tmp_path, server.base_url, agent_file(tmp_path, script), **settings)
        return done.result


@pytest.mark.slow
def test_a_flooded_log_ends_the_agent_and_what_it_left_counts(tmp_path: Path) -> None:
    script = "leave_program()\nwhile True: print('x' * 100000)"
    outcome = outcome_of(tmp_path, script, output_mb=5)
    assert outcome.status == "measured"
    assert any("did not end by itself: stopped: output" in each for each in outcome.warnings)
    assert (tmp_path / "trial/steps.jsonl").stat().st_size < 2**20


@pytest.mark.slow
def test_daemons_end_with_the_agent(tmp_path: Path) -> None:
    script = f"""
    {GOOD.replace(chr(10), chr(10) + "    ")}
    beat = "import time\\nwhile True: open('/workspace/beat', 'a').write('.'); time.sleep(0.05)"
    for _ in range(3):
        subprocess.Popen(["setsid", "nohup", "python", "-c", beat])
    time.sleep(0.5)
    """
    assert outcome_of(tmp_path, script).status == "measured"
    beat = tmp_path / "trial/workspace/beat"
    size = beat.stat().st_size
    time.sleep(0.3)
    assert size > 0 and beat.stat().st_size == size


@pytest.mark.slow
def test_a_thousand_calls_at_once_are_answered_in_turn_within_the_limit(tmp_path: Path) -> None:
    script = """
    leave_program()
    import asyncio, collections
    async def one():
        reader, writer = await asyncio.open_connection("127.0.0.1", 8377)
        body = b'{"model": "m", "messages": [{"role": "user", "content": "go"}]}'
        writer.write(b"POST /v1/chat/completions HTTP/1.1\\r\\nHost: x\\r\\nContent-Length: "
                     + str(len(body)).encode() + b"\\r\\n\\r\\n" + body)
        line = await reader.readline()
        writer.close()
        return line.split()[1].decode() if line else "closed"
    async def many():
        return collections.Counter(await asyncio.gather(*[one() for _ in range(1000)],
                                   return_exceptions=True))
    import resource
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    print(json.dumps({str(k): n for k, n in asyncio.run(many()).items()}))
    """
    at_once, most, lock = 0, 0, threading.Lock()

    def reply(request: Any) -> str:
        nonlocal at_once, most
        with lock:
            at_once += 1
            most = max(most, at_once)
        time.sleep(0.01)
        with lock:
            at_once -= 1
        return "answer"

    with chat_server(reply) as server:
        agent = agent_file(tmp_path, script, limits={"calls": 300})
        done = run_agent(tmp_path, server.base_url, agent)
    assert done.result.status == "measured"
    found = printed_json(tmp_path)
    assert found["200"] == 300 and sum(found.values()) == 1000, found
    assert set(found) <= {"200", "402", "closed"}
    assert len(calls_of(tmp_path)) == 300 and most <= gateway_server.SERVED


@pytest.mark.slow
def test_another_model_is_not_to_be_had(tmp_path: Path) -> None:
    script = "print(call(model='expensive')[1]['model'])\nleave_program()"
    with chat_server(["answer"]) as server:
        done = run_agent(tmp_path, server.base_url, agent_file(tmp_path, script))
        assert server.requests[0].body["model"] == "m"
    assert agent_output(tmp_path).strip() == "m"
    assert "the agent asked for expensive; m answered instead" in done.result.warnings


@pytest.mark.slow
def test_a_request_of_100_mb_is_refused_unread(tmp_path: Path) -> None:
    script = """
    sent = socket.create_connection(("127.0.0.1", 8377))
    sent.sendall(b"POST /v1/messages HTTP/1.1\\r\\nHost: x\\r\\nContent-Length: 104857600\\r\\n\\r\\n")
    try:
        for _ in range(1600): sent.sendall(b"x" * 65536)
    except OSError:
        pass
    answer = b""
    try:
        while part := sent.recv(65536): answer += part
    except OSError:
        pass
    print(b"413" in answer.split(b"\\r\\n")[0] or not answer)
    print(call(body=b"[" * 2000000)[1]["error"]["code"], call(body=b"[" + b"1," * 1500000)[0])
    print([call(body=each)[0] for each in (b" ", b"null", b"[]", b"{}", b'{"messages": 3}',
          b'{"messages": [{"role": "nobody"}]}', b'{"messages": [{}]}', b"\\xff")])
    leave_program()
    """
    outcome = outcome_of(tmp_path, script)
    assert outcome.status == "measured", agent_output(tmp_path)
    lines = agent_output(tmp_path).split("\n")
    assert lines[0] == "True"
    assert lines[1] == "request_too_large 413"
    # a message that can't be read here is passed on: the provider says what it takes
    assert lines[2] == str([400] * 5 + [200] * 2 + [400])
    assert len(calls_of(tmp_path)) == 2


@pytest.mark.slow
def test_a_broken_stream_costs_what_it_cost_and_hurts_nobody(tmp_path: Path) -> None:
    script = f"""
    asked = json.dumps({{"model": "m", "stream": True, "messages": [{{"role": "user", "content": "x"}}]}})
    for _ in range(3):
        sent = socket.create_connection(("127.0.0.1", 8377))
        head = "POST /v1/chat/completions HTTP/1.1\\r\\nHost: x\\r\\nContent-Length: %d\\r\\n\\r\\n"
        sent.sendall((head % len(asked) + asked).encode())
        sent.close()
    {GOOD.replace(chr(10), chr(10) + "    ")}
    """
    outcome = outcome_of(tmp_path, script, lambda request: Answer("answer " * 50_000))
    assert outcome.status == "measured"
    assert len(calls_of(tmp_path)) == 4  # they were made, so they stand in the account


@pytest.mark.slow
def test_no_host_but_the_gateway_is_there(tmp_path: Path) -> None:
    outside = socket.create_server(("127.0.0.1", 0))
    port = outside.getsockname()[1]
    script = f"""
    def reached(family, address):
        try:
            with socket.socket(family, socket.SOCK_STREAM) as one:
                one.settimeout(2)
                one.connect(address)
                return True
        except OSError:
            return False
    places = [("127.0.0.1", {port}), ("1.1.1.1", 80), ("169.254.169.254", 80)]
    print([reached(socket.AF_INET, place) for place in places], open("/proc/net/route").read().count("\\n"))
    print(sorted(name for name in os.environ if "KEY" in name or "TOKEN" in name))
    leave_program()
    """
    with outside:
        outcome = outcome_of(tmp_path, script)
    assert outcome.status == "measured"
    lines = agent_output(tmp_path).split("\n")
    assert lines[0].startswith("[False, False, False] ") and lines[1] == "[]"


@pytest.mark.slow
def test_the_socket_of_another_trial_is_not_there(tmp_path: Path) -> None:
    abstract = socket.socket(socket.AF_UNIX)
    abstract.bind("\0autoreproduce-test-of-a-gateway")
    abstract.listen()
    script = """
    found = []
    for place, folders, files in os.walk("/", onerror=None):
        if place.startswith(("/proc", "/sys", "/usr")):
            folders.clear()
        for name in files:
            path = os.path.join(place, name)
            try:
                if __import__("stat").S_ISSOCK(os.lstat(path).st_mode): found.append(path)
            except OSError:
                pass
    try:
        socket.socket(socket.AF_UNIX).connect("\\0autoreproduce-test-of-a-gateway")
        found.append("abstract")
    except OSError:
        pass
    try:
        os.remove("/gateway/socket")
        found.append("removed")
    except OSError:
        pass
    print(json.dumps(found))
    leave_program()
    """
    other = tmp_path / "other"
    other.mkdir()
    waits = "call()\nleave_program()"
    with abstract, chat_server(lambda request: Answer("answer", hang=1.0)) as server:
        agent = agent_file(other, waits)
        (tmp_path / "agent-code").mkdir()
        beside = threading.Thread(target=run_agent, args=(other, server.base_url, agent))
        code = agent_file(tmp_path, script)
        (tmp_path / "agent-code/other.py").write_text((other / "agent-code/agent.py").read_text())
        agent.write_text(agent.read_text().replace("code/agent.py", "code/other.py"))
        beside.start()
        while not server.requests:
            time.sleep(0.02)
        done = run_agent(tmp_path, server.base_url, code)
        beside.join()
    assert done.result.status == "measured"
    assert printed_json(tmp_path) == ["/gateway/socket"]


@pytest.mark.slow
def test_a_gateway_that_ends_stops_the_trial_which_can_be_resumed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = agent_file(tmp_path, f"{GOOD}print('on', flush=True)\ntime.sleep(2)")
    opened: list[gateway_server.Gateway] = []
    enter = gateway_server.Gateway.__enter__

    def entered(gateway: gateway_server.Gateway) -> gateway_server.Gateway:
        opened.append(gateway)
        return enter(gateway)

    class Watch:
        def output(self, text: str) -> None:
            if "on" in text and len(opened) == 1:
                opened[0].shutdown()  # as a bug in it would end its thread

        def phase(self, *_: Any) -> None: ...
        def step(self, *_: Any) -> None: ...
        def note(self, *_: Any) -> None: ...

    monkeypatch.setattr(gateway_server.Gateway, "__enter__", entered)
    with chat_server(lambda request: "answer") as server:
        done = run_agent(tmp_path, server.base_url, agent, observers=[Watch()])
        assert done.result.status == "stopped"
        assert done.result.details["error"] == "gateway"
        done = run_agent(tmp_path, server.base_url, agent)
    assert done.result.status == "measured"
    assert any("interrupted after 1 calls" in each for each in done.result.warnings)


@pytest.mark.slow
def test_links_and_pipes_in_the_workspace_lead_nowhere(tmp_path: Path) -> None:
    script = """
    os.symlink("/etc/passwd", "main.py")
    os.mkfifo("pipe.py"); os.mkfifo(os.environ["HOME"] + "/pipe")
    os.symlink("/gateway/socket", os.environ["HOME"] + "/link")
    """
    outcome = outcome_of(tmp_path, script)
    assert outcome.status == "failed" and "left no main.py" in outcome.reason
    assert not list((tmp_path / "trial/agent").rglob("*link"))

"""An app for the host's own tests: it writes what it was given to the file in the setting TRACE, a line each."""

import asyncio
import json
import os

import azure.functions as func

app = func.FunctionApp()


def note(**what: object) -> None:
    with open(os.environ["TRACE"], "a", encoding="utf-8") as file:
        file.write(json.dumps(what) + "\n")


@app.function_name("sessions")
@app.service_bus_queue_trigger(
    arg_name="message", queue_name="%SESSIONS_QUEUE%", connection="BUS", is_sessions_enabled=True
)
@app.service_bus_queue_output(arg_name="out", queue_name="refused", connection="BUS")
async def sessions(message: func.ServiceBusMessage, out: func.Out[str]) -> None:
    body = json.loads(message.get_body())
    note(
        at="begin",
        session=message.session_id,
        number=body["number"],
        delivery=message.delivery_count,
        message_id=message.message_id,
        properties=message.application_properties,
    )
    if body.get("refuse"):
        out.set(json.dumps({"reason": "refused", "number": body["number"]}))
        return
    if body.get("fail"):
        raise RuntimeError("the text of an exception may hold memory: xyzzy")
    await asyncio.sleep(body.get("seconds", 0))
    note(at="end", session=message.session_id, number=body["number"])


@app.function_name("plain")
@app.service_bus_queue_trigger(arg_name="message", queue_name="plain", connection="BUS")
def plain(message: func.ServiceBusMessage) -> None:
    note(at="plain", body=message.get_body().decode(), session=message.session_id)


@app.function_name("tick")
@app.timer_trigger(arg_name="timer", schedule="* * * * * *")
async def tick(timer: func.TimerRequest) -> None:
    note(at="tick", past_due=timer.past_due)
    await asyncio.sleep(float(os.environ.get("TICK_SECONDS", "0")))
    note(at="tock")


@app.function_name("nightly")
@app.timer_trigger(arg_name="timer", schedule="0 0 3 * * *", run_on_startup=True)
def nightly(timer: func.TimerRequest) -> None:
    note(at="nightly")

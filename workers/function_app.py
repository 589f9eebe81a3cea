"""The Azure Functions app: every trigger there is.

Queues are named by `memnet.domain.core.job.QUEUES`, and their sessions make the jobs of one user run one after the
other. The app setting MEMNET_SERVICE_BUS connects the triggers: `MEMNET_SERVICE_BUS__fullyQualifiedNamespace` with
the app's identity in Azure, a connection string for the emulator. The work itself takes the MEMNET_* settings of
memnet.settings.

Schedules are NCRONTAB (seconds first, UTC) and stand here, not in app settings: a setting that is missing would stop
all functions from being indexed, and how often they run is decided together with what they do. A timer is turned off
by the setting `AzureWebJobs.<name>.Disabled`, and run at once by `POST /admin/functions/<name>`. Each is safe beside
itself and beside the same work of an API process.
"""

import azure.functions as func

from memnet.domain.core.job import DEAD_LETTERS, QUEUES, JobKind
from workers import work
from workers.message_handling import receive

CONNECTION = "MEMNET_SERVICE_BUS"

app = func.FunctionApp()


@app.function_name("replay_snapshot")
@app.service_bus_queue_trigger(
    arg_name="message", queue_name=QUEUES[JobKind.REPLAY], connection=CONNECTION, is_sessions_enabled=True
)
@app.service_bus_queue_output(arg_name="dead_letter", queue_name=DEAD_LETTERS, connection=CONNECTION)
async def replay_snapshot(message: func.ServiceBusMessage, dead_letter: func.Out[str]) -> None:
    """Extract a snapshot's memory and patch it into the documents."""
    await receive(message, dead_letter, work.REPLAY)


@app.function_name("attempt_conflict")
@app.service_bus_queue_trigger(
    arg_name="message", queue_name=QUEUES[JobKind.CONFLICT], connection=CONNECTION, is_sessions_enabled=True
)
@app.service_bus_queue_output(arg_name="dead_letter", queue_name=DEAD_LETTERS, connection=CONNECTION)
async def attempt_conflict(message: func.ServiceBusMessage, dead_letter: func.Out[str]) -> None:
    """Try a patch in conflict again, as its schedule says."""
    await receive(message, dead_letter, work.CONFLICT)


@app.function_name("resume_reindexing")
@app.service_bus_queue_trigger(
    arg_name="message", queue_name=QUEUES[JobKind.REINDEX], connection=CONNECTION, is_sessions_enabled=True
)
@app.service_bus_queue_output(arg_name="dead_letter", queue_name=DEAD_LETTERS, connection=CONNECTION)
async def resume_reindexing(message: func.ServiceBusMessage, dead_letter: func.Out[str]) -> None:
    """Index a tenant's events anew."""
    await receive(message, dead_letter, work.REINDEX)


@app.function_name("requeue_jobs")
@app.timer_trigger(arg_name="timer", schedule="30 * * * * *")
async def requeue_jobs(timer: func.TimerRequest) -> None:
    """Every minute: send again the jobs that were lost on their way."""
    await work.on_time("requeue_jobs", work.requeue)


@app.function_name("reconcile_events")
@app.timer_trigger(arg_name="timer", schedule="0 * * * * *")
async def reconcile_events(timer: func.TimerRequest) -> None:
    """Every minute: index the events that could not be indexed when they were written."""
    await work.on_time("reconcile_events", work.reconcile)


@app.function_name("sweep_outboxes")
@app.timer_trigger(arg_name="timer", schedule="15 */15 * * * *")
async def sweep_outboxes(timer: func.TimerRequest) -> None:
    """Every quarter of an hour: move to the audit what crashed writers left in the documents."""
    await work.on_time("sweep_outboxes", work.sweep)


@app.function_name("compact_documents")
@app.timer_trigger(arg_name="timer", schedule="0 20 * * * *")
async def compact_documents(timer: func.TimerRequest) -> None:
    """Every hour: make the documents compact by their profiles' rules."""
    await work.on_time("compact_documents", work.compact)


@app.function_name("refresh_documents")
@app.timer_trigger(arg_name="timer", schedule="0 40 3 * * *")
async def refresh_documents(timer: func.TimerRequest) -> None:
    """Every night: expire what is over and doubt what is stale."""
    await work.on_time("refresh_documents", work.refresh)


@app.function_name("sign_checkpoints")
@app.timer_trigger(arg_name="timer", schedule="45 50 * * * *")
async def sign_checkpoints(timer: func.TimerRequest) -> None:
    """Every hour: sign a head for each user whose documents have changed."""
    await work.on_time("sign_checkpoints", work.sign)


@app.function_name("erase_users")
@app.timer_trigger(arg_name="timer", schedule="*/20 * * * * *")
async def erase_users(timer: func.TimerRequest) -> None:
    """Every twenty seconds: go on with the erasures that run."""
    await work.on_time("erase_users", work.erase)


@app.function_name("apply_retentions")
@app.timer_trigger(arg_name="timer", schedule="0 10 2 * * *")
async def apply_retentions(timer: func.TimerRequest) -> None:
    """Every night: remove what is stored for longer than the rules say."""
    await work.on_time("apply_retentions", work.retain)

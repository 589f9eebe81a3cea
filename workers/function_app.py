"""The Azure Functions app: every trigger.

Queues are named by `memnet.domain.core.job.QUEUES`; their sessions run the jobs of one user, or of one shard, one after
the other. The app setting MEMNET_SERVICE_BUS connects the triggers: `MEMNET_SERVICE_BUS__fullyQualifiedNamespace` with
the app's identity in Azure, a connection string for the emulator. The work itself reads the MEMNET_* settings of
memnet.settings.

Schedules are NCRONTAB (seconds first, UTC). They are constants rather than app settings: a missing setting would keep
every function from being indexed, and the work of a timer determines how often it runs. The setting
`AzureWebJobs.<name>.Disabled` turns a timer off; `POST /admin/functions/<name>` runs it at once. Each may run
concurrently with itself and with the same work in an API process.
"""

import azure.functions as func

from memnet.domain.core.job import DEAD_LETTERS, QUEUES, JobKind
from workers import handlers
from workers.handlers import run_timer
from workers.message_handling import receive

CONNECTION = "MEMNET_SERVICE_BUS"

app = func.FunctionApp()


@app.function_name("replay_snapshot")
@app.service_bus_queue_trigger(
    arg_name="message", queue_name=QUEUES[JobKind.REPLAY], connection=CONNECTION, is_sessions_enabled=True
)
@app.service_bus_queue_output(arg_name="dead_letter", queue_name=DEAD_LETTERS, connection=CONNECTION)
async def replay_snapshot(message: func.ServiceBusMessage, dead_letter: func.Out[str]) -> None:
    """Extract memory from a conversation and patch it into the documents; apply or undo a retraction."""
    await receive(message, dead_letter, handlers.REPLAY)


@app.function_name("attempt_conflict")
@app.service_bus_queue_trigger(
    arg_name="message", queue_name=QUEUES[JobKind.CONFLICT], connection=CONNECTION, is_sessions_enabled=True
)
@app.service_bus_queue_output(arg_name="dead_letter", queue_name=DEAD_LETTERS, connection=CONNECTION)
async def attempt_conflict(message: func.ServiceBusMessage, dead_letter: func.Out[str]) -> None:
    """Attempt to apply a patch in conflict, on its schedule."""
    await receive(message, dead_letter, handlers.CONFLICT)


@app.function_name("resume_reindexing")
@app.service_bus_queue_trigger(
    arg_name="message", queue_name=QUEUES[JobKind.REINDEX], connection=CONNECTION, is_sessions_enabled=True
)
@app.service_bus_queue_output(arg_name="dead_letter", queue_name=DEAD_LETTERS, connection=CONNECTION)
async def resume_reindexing(message: func.ServiceBusMessage, dead_letter: func.Out[str]) -> None:
    """Rebuild the index of a tenant's events."""
    await receive(message, dead_letter, handlers.REINDEX)


@app.function_name("run_shard")
@app.service_bus_queue_trigger(
    arg_name="message", queue_name=QUEUES[JobKind.UPKEEP], connection=CONNECTION, is_sessions_enabled=True
)
@app.service_bus_queue_output(arg_name="dead_letter", queue_name=DEAD_LETTERS, connection=CONNECTION)
async def run_shard(message: func.ServiceBusMessage, dead_letter: func.Out[str]) -> None:
    """Work on the users of one shard."""
    await receive(message, dead_letter, handlers.UPKEEP)


@app.function_name("requeue_jobs")
@app.timer_trigger(arg_name="timer", schedule="30 * * * * *")
async def requeue_jobs(timer: func.TimerRequest) -> None:
    """Every minute: send lost jobs again."""
    await run_timer("requeue_jobs", handlers.requeue_jobs)


@app.function_name("reconcile_events")
@app.timer_trigger(arg_name="timer", schedule="0 * * * * *")
async def reconcile_events(timer: func.TimerRequest) -> None:
    """Every minute: index the events and the conversations that the index does not have yet."""
    await run_timer("reconcile_events", handlers.reconcile_index)


@app.function_name("erase_users")
@app.timer_trigger(arg_name="timer", schedule="*/20 * * * * *")
async def erase_users(timer: func.TimerRequest) -> None:
    """Every 20 seconds: continue the running erasures."""
    await run_timer("erase_users", handlers.erase_users)


@app.function_name("tend_users")
@app.timer_trigger(arg_name="timer", schedule="15 */15 * * * *")
async def tend_users(timer: func.TimerRequest) -> None:
    """Every 15 minutes: have the users tended that have changed."""
    await run_timer("tend_users", handlers.tend_users)


@app.function_name("apply_due")
@app.timer_trigger(arg_name="timer", schedule="0 10 * * * *")
async def apply_due(timer: func.TimerRequest) -> None:
    """Every hour: have retention and freshness applied to the users that are due."""
    await run_timer("apply_due", handlers.apply_due)


@app.function_name("mark_all_users")
@app.timer_trigger(arg_name="timer", schedule="0 40 * * * *")
async def mark_all_users(timer: func.TimerRequest) -> None:
    """Every hour: if the rules have changed, have every user marked as due."""
    await run_timer("mark_all_users", handlers.mark_all_users)

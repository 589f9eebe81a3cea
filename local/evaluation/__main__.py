"""`python -m local.evaluation`: play conversations into a local stack, ask the probes, and print what was recalled."""

import argparse
import asyncio
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from local.evaluation import ablation, statements
from local.evaluation.catalog import pipelines, shipped_rules
from local.evaluation.fitting import fit_ranker
from local.evaluation.grading import MAIN, Grade
from local.evaluation.judge import Verdict, judge, summary
from local.evaluation.playing import ask, asked_by
from local.evaluation.report import table
from local.evaluation.sample import SHIPPED, SampleError, read_samples
from local.evaluation.session import TENANT, Session, played
from local.stack.process import ROOT, StackError
from memnet.domain.core.errors import Unavailable
from memnet.settings import load
from memnet.wiring import connect
from memnet_client import MemnetError

WRITTEN = ROOT / "build" / "evaluation"
NO_MODEL = "JUDGE=1 needs a model: set OPENAI_API_KEY, ANTHROPIC_API_KEY or MEMNET_MODEL_PROVIDERS (docs/models.md)."


def main(arguments: Sequence[str] | None = None) -> int:
    """Evaluate. Return 0, 1 if the stack or a call failed, 2 if the data cannot be used."""
    parser = argparse.ArgumentParser(prog="python -m local.evaluation", description="How much a recall brings back.")
    parser.add_argument("--data", type=Path, default=SHIPPED, help="a file or folder of samples in LoCoMo's format")
    parser.add_argument("--skip-ingest", action="store_true", help="use what the last run has played")
    parser.add_argument("--ablate", action="store_true", help="compare the pipelines, and the default less each stage")
    parser.add_argument("--fit", action="store_true", help="fit the weights of the ranker, and write a ranker file")
    parser.add_argument("--statements", action="store_true", help="measure which statements would become one, and end")
    parser.add_argument("--judge", action="store_true", help="let a model answer and grade")
    given = parser.parse_args(arguments)
    try:
        asyncio.run(_evaluate(given))
    except SampleError as error:
        return _fail(str(error), 2)
    except (StackError, MemnetError, Unavailable, TimeoutError) as error:
        return _fail(str(error) or type(error).__name__, 1)
    return 0


async def _evaluate(given: argparse.Namespace) -> None:
    if given.statements:
        print(await statements.table())
        return
    samples = read_samples(given.data)
    async with played(samples, again=given.skip_ingest) as session:
        if given.ablate:
            await _ablate(session, given.data.stem)
        else:
            print(table(await _ask(session)))
        if given.fit:
            async with connect(load(session.settings())) as service:
                content, reached = await fit_ranker(samples, TENANT, service)
            print(reached, f"written: {_write(content)}", sep="\n")
        if given.judge:
            await _judge(session)


async def _ask(session: Session, pipeline: str | None = None) -> Sequence[Grade]:
    return [one for sample in session.samples for one in await ask(sample, asked_by(session.user(sample), pipeline))]


async def _ablate(session: Session, title: str) -> None:
    rules = shipped_rules()
    names = [rules.default, *(name for name in pipelines(rules) if name != rules.default)]
    grades = {name: await _ask(session, name) for name in names}
    for name, found in grades.items():
        print(name, table(found), "", sep="\n")
    written = ablation.write(ablation.compare(grades, rules.default), WRITTEN, title)
    print("written:", *written)


def _write(content: Mapping[str, object]) -> Path:
    WRITTEN.mkdir(parents=True, exist_ok=True)
    file = WRITTEN / "ranker.json"
    file.write_text(json.dumps(content, indent=2) + "\n", "utf-8")
    return file


async def _judge(session: Session) -> None:
    async with connect(load(session.settings())) as service:
        if service.models is None:
            print(NO_MODEL)
            return
        recalled = [
            (probe, (await asked_by(session.user(sample))(probe.question, MAIN)).text)
            for sample in session.samples
            for probe in sample.probes
        ]
        verdicts: Sequence[Verdict] = await judge(recalled, service.models)
        print(summary(verdicts))


def _fail(text: str, code: int) -> int:
    print(f"memnet: {text}", file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())

"""What the loop says of its work: log lines, and the numbers behind them."""

from kubeproxy.model.complaint import Complaint
from kubeproxy.runtime.logs import log
from kubeproxy.runtime.metrics import Metrics
from kubeproxy.runtime.sync import AnyLane, Report
from kubeproxy.sources.notice import Level, Notice


def say_notice(notice: Notice) -> None:
    """One line for what a source could not use, or assigned by itself."""
    keys: dict[str, object] = {
        "object": notice.ref,
        "file": notice.file,
        "document": notice.document,
        "field": notice.field,
        "value": notice.value,
        "remedy": notice.remedy,
    }
    said = {key: value for key, value in keys.items() if value not in ("", None, 0)}
    if notice.level is Level.ERROR:
        log.error(notice.problem, None, **said)
    elif notice.level is Level.WARNING:
        log.warning(notice.problem, **said)
    else:
        log.info(notice.problem, v=0, **said)


def say_complaint(complaint: Complaint) -> None:
    log.warning(
        complaint.problem,
        object=complaint.about,
        field=complaint.field,
        value=complaint.value,
        remedy=complaint.remedy,
    )


def say_report(lane: AnyLane, report: Report, seconds: float) -> None:
    """One line for each sync that did something or failed."""
    family = lane.family.value
    for name, why in report.culprits:
        kept = lane.quarantine.get(name)
        log.error(
            "The kernel refuses the rules of a Service port; it keeps what it had, the others are programmed",
            err=why,
            servicePort=name,
            protocol=name.protocol.value,
            ipFamily=family,
            tries=kept.tries if kept else 1,
        )
    for name, lost in report.lost:
        frontend = lost.frontend
        log.warning(
            "Two Services claim one address and port: the older one has it, the other gets no traffic there",
            address=frontend.address or "every node port address",
            port=frontend.port,
            protocol=frontend.protocol.value,
            kind=frontend.kind.value,
            servedBy=lost.holder,
            leftOut=name,
            remedy="give one of them another address or port",
        )
    if report.error is not None:
        log.folded(
            log.error,
            "Failed to sync the rules; it is tried again",
            err=report.error,
            ipFamily=family,
        )
        return
    if report.refusals and not report.culprits:
        log.folded(
            log.warning,
            "The kernel refused the rules at first, and took them when they came again in another way",
            ipFamily=family,
            refusals=report.refusals,
        )
    if report.operations or report.complete:
        counts = {f"{table}Rules": count for table, count in report.written}
        log.info(
            "Synced the rules",
            ipFamily=family,
            complete=report.complete,
            milliseconds=round(seconds * 1000, 1),
            **counts,
            v=0 if report.complete and report.operations else 2,
        )


def count_report(lane: AnyLane, report: Report, seconds: float, metrics: Metrics) -> None:
    family = lane.family.value
    metrics.sync.observe(seconds, ip_family=family)
    (metrics.sync_full if report.complete else metrics.sync_partial).observe(seconds, ip_family=family)
    for table, count in lane.backend.rule_counts(lane.wanted).items():
        metrics.rules_total.set(count, ip_family=family, table=table)
        metrics.rules_last.set(dict(report.written).get(table, 0), ip_family=family, table=table)
    if report.error is not None or report.refusals:
        metrics.restore_failures.inc(ip_family=family)
        if not report.complete:
            metrics.partial_restore_failures.inc(ip_family=family)

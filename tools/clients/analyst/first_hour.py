"""An analyst's first hour with Mintlake, as the cells of a notebook.

    python first_hour.py docs/analytics.md volume.png

It needs clickhouse-connect and matplotlib, and a running node; MINTLAKE_CLICKHOUSE names its ClickHouse (http://127.0.0.1:8123).
"""

# %% Connect
import os
import re
import sys
import time
from collections import defaultdict
from urllib.parse import urlsplit

import clickhouse_connect
import matplotlib

matplotlib.use("Agg")  # a file, not a window
import matplotlib.pyplot as plt  # noqa: E402
from matplotlib.dates import ConciseDateFormatter, AutoDateLocator  # noqa: E402

page, picture = sys.argv[1:3]
address = urlsplit(os.environ.get("MINTLAKE_CLICKHOUSE", "http://127.0.0.1:8123"))
client = clickhouse_connect.get_client(host=address.hostname, port=address.port, database="mintlake")

# %% What is there?
views = client.query("SELECT name, comment FROM system.tables WHERE database = 'mintlake' AND engine = 'View' ORDER BY name")
for name, comment in views.result_rows:
    print(f"  {name:22} {comment}")
    assert comment, f"{name} has no comment"
assert len(views.result_rows) >= 20

# %% The first trades are valued within some seconds of their blocks, and the figures of the day follow
for _ in range(240):
    legs, valued = client.query("SELECT count(), countIf(usd_value > 0) FROM swaps").first_row
    day = client.query("SELECT count() FROM pool_volume_1m WHERE bucket <= (SELECT max(until) FROM daily_volumes)").first_row[0]
    if valued >= 200 and day > 0:
        break
    time.sleep(1)
print(f"{legs} swap legs, {valued} of them with a value")
assert valued >= 200, "the node trades nothing"
assert day > 0, "the day has no figures"

# %% The questions of the page
text = open(page, encoding="utf-8").read()
questions = re.findall(r"\n([^\n]+)\n\n```sql\n(.*?)```", text, re.S)


def ask_all():
    """Asks every question once, and returns a line for each statement, and how many have an answer."""
    lines, answered = [], 0
    for question, sql in questions:
        for statement in sql.split(";\n"):
            result = client.query(statement)
            first = dict(zip(result.column_names, result.result_rows[0])) if result.result_rows else "no row"
            lines.append(f"{question.split(':')[0][:70]:70} {len(result.result_rows):4} rows  {str(first)[:110]}")
            answered += bool(result.result_rows)
    return lines, answered


for _ in range(24):  # some questions are about today, of which there is nothing in its first minute (UTC)
    lines, answered = ask_all()
    if answered >= 20:
        break
    time.sleep(5)
print("\n".join(lines))
assert len(questions) >= 20 and answered >= 20, f"{answered} of {len(questions)} questions have an answer"

# %% Volume by venue, minute by minute
DAY = "(SELECT max(until) FROM daily_volumes) - INTERVAL 1 DAY"
for _ in range(180):
    rows = client.query(f"""
        SELECT bucket, venue, toFloat64(sum(volume_usd)) AS usd
        FROM pool_volume_1m
        WHERE bucket > {DAY}
        GROUP BY bucket, venue ORDER BY bucket
    """).result_rows
    total = client.query(f"SELECT toFloat64(sum(usd_value)) FROM swaps WHERE block_time > {DAY}").first_row[0]
    if abs(sum(usd for _, _, usd in rows) / total - 1) < 0.25:
        break
    time.sleep(1)  # trades go on, and their minute is valued some seconds later
minutes = sorted({bucket for bucket, _, _ in rows})
series = defaultdict(lambda: [0.0] * len(minutes))
for bucket, venue, usd in rows:
    series[venue][minutes.index(bucket)] = usd
venues = sorted(series, key=lambda venue: -sum(series[venue]))

figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4.5), width_ratios=(1, 2), layout="constrained")
totals = [sum(series[venue]) / 1e6 for venue in venues]
bars = left.barh(venues, totals, color=[f"C{n}" for n in range(len(venues))])
left.bar_label(bars, labels=[f"{total:,.2f}" for total in totals], padding=3)
left.margins(x=0.2)
left.invert_yaxis()
left.set(title="Volume of a day by venue", xlabel="million US dollars")
bottom = [0.0] * len(minutes)
for n, venue in enumerate(venues):
    right.bar(minutes, [usd / 1e6 for usd in series[venue]], width=1 / 1440 * 0.9, bottom=bottom, label=venue, color=f"C{n}")
    bottom = [below + usd / 1e6 for below, usd in zip(bottom, series[venue])]
locator = AutoDateLocator()
right.xaxis.set_major_locator(locator)
right.xaxis.set_major_formatter(ConciseDateFormatter(locator))
right.margins(y=0.2)
right.set(title="Minute by minute (block time, UTC)", ylabel="million US dollars")
right.legend(loc="upper left")
figure.savefig(picture, dpi=120)

# %% Is the picture what the API says?
drawn = sum(sum(values) for values in series.values())
assert drawn > 0 and abs(drawn / total - 1) < 0.25, f"drawn {drawn}, legs {total}"
print(f"{picture}: {len(venues)} venues, {len(minutes)} minutes, {drawn:,.0f} US dollars")

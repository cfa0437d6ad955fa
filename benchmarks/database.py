"""Learning from PostgreSQL: seconds, and bytes over the socket.

    python benchmarks/database.py SOCKET_FOLDER [--user tester] [--rows 1000000] [--driver adbc]

SOCKET_FOLDER holds the Unix socket of a server (`.s.PGSQL.5432`). The table `priorwise_bench` of
eight numbers, six texts and a class is made there unless it has that many rows already. Needs
`adbc_driver_postgresql`, or `psycopg` with `--driver psycopg`. All bytes pass through a proxy in
another process, which counts them.

Until 2026-11 networks could be counted by queries (GROUP BY). A million rows, PostgreSQL 15,
ADBC, two cores shared with other work; seconds and MB, of this table, and of one that stores the
two numbers that are all different with one and two decimals:

                      this table                 all numbers rounded
                 counting         rows          counting         rows
    naive Bayes  15.1  110.7    12.4  308       9.6   0.75    16.0  308
    TAN          38.8  111.9    11.9  308      43.0   2.10    19.7  308
    kDB-2        50.1  116.2    12.3  308      44.7   5.77    16.6  308

Fewer bytes pay where a connection is slow: for TAN of rounded numbers, below 13 MB/s.
"""

from __future__ import annotations

import argparse
import multiprocessing
import socket
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from priorwise import AODEClassifier, KDBClassifier, NaiveBayesClassifier, TANClassifier
from priorwise.data import SqlSource

TABLE = "priorwise_bench"
SOCKET = ".s.PGSQL.5432"
MODELS = {
    "naive Bayes": NaiveBayesClassifier,
    "TAN": TANClassifier,
    "kDB-2": lambda: KDBClassifier(2),
    "AODE": AODEClassifier,
}
MAKE_TABLE = f"""
DROP TABLE IF EXISTS {TABLE};
SELECT setseed(0.5);
CREATE TABLE {TABLE} AS
SELECT
    y + random() * 4 AS exact1, 0.3 * y + random() ^ 2 AS exact2,
    round((y + random() * 5)::numeric, 2)::float8 AS round1,
    round((random() * 3 * (1 + y))::numeric, 2)::float8 AS round2,
    round((random() * 90 + 5 * y)::numeric, 1)::float8 AS round3,
    18 + 4 * y + floor(random() * 60)::int AS age, floor(random() * 1000)::int AS price,
    floor(random() * (3 + y))::int AS few,
    'colour' || mod(y + floor(random() * 4)::int, 5) AS colour,
    'town' || mod(y * 7 + floor(random() ^ 2 * 40)::int, 47) AS town,
    CASE WHEN random() < 0.1 THEN NULL ELSE 'shape' || floor(random() * (2 + y)) END AS shape,
    CASE WHEN random() < 0.2 + 0.2 * y THEN 'yes' ELSE 'no' END AS member,
    'brand' || floor(random() * 12) AS brand, 'day' || floor(random() * 7) AS weekday,
    (ARRAY['low', 'middle', 'high'])[y + 1] AS label
FROM (SELECT floor(random() * 3)::int AS y FROM generate_series(1, {{n_rows}})) AS classes
"""


def relay(reader: socket.socket, writer: socket.socket, n_bytes: Any) -> None:
    """Pass on what is read until the end, and add up its length."""
    while piece := reader.recv(1 << 18):
        writer.sendall(piece)
        with n_bytes.get_lock():
            n_bytes.value += len(piece)
    writer.shutdown(socket.SHUT_WR)


def serve(listener: socket.socket, server: str, n_bytes: Any) -> None:
    """Connect whoever calls to the server."""
    while True:
        client, _ = listener.accept()
        upstream = socket.socket(socket.AF_UNIX)
        upstream.connect(server)
        for pair in ((client, upstream), (upstream, client)):
            threading.Thread(target=relay, args=(*pair, n_bytes), daemon=True).start()


def connect(driver: str, folder: Path, user: str) -> Any:
    """Open a connection by a driver's name."""
    if driver == "adbc":
        from adbc_driver_postgresql import dbapi

        return dbapi.connect(f"postgresql:///postgres?host={folder}&user={user}")
    import psycopg

    return psycopg.connect(host=str(folder), user=user, dbname="postgres")


def make_table(connection: Any, n_rows: int) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT to_regclass('{TABLE}') IS NOT NULL")
        if cursor.fetchone()[0]:
            cursor.execute(f"SELECT COUNT(*) FROM {TABLE}")
            if cursor.fetchone()[0] == n_rows:
                return
        for statement in MAKE_TABLE.format(n_rows=n_rows).split(";"):
            cursor.execute(statement)
        cursor.execute(f"ANALYZE {TABLE}")
    connection.commit()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--user", default="tester")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--driver", choices=("adbc", "psycopg"), default="adbc")
    given = parser.parse_args()
    n_bytes = multiprocessing.Value("q", 0)
    with tempfile.TemporaryDirectory() as name:
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(f"{name}/{SOCKET}")
        listener.listen()
        place = (listener, str(given.folder / SOCKET), n_bytes)
        proxy = multiprocessing.Process(target=serve, args=place, daemon=True)
        proxy.start()
        connection = connect(given.driver, Path(name), given.user)
        make_table(connection, given.rows)
        show(SqlSource(connection, TABLE), n_bytes)
        connection.close()
        proxy.terminate()


def show(source: SqlSource, n_bytes: Any) -> None:
    """Print a line for each model."""
    print(f"{'model':12}{'s':>8}{'MB':>10}{'passes':>8}")
    for name, make in MODELS.items():
        before, start = n_bytes.value, time.perf_counter()
        model = make().fit_dataset(source, target="label")
        seconds, n_mb = time.perf_counter() - start, (n_bytes.value - before) / 1e6
        print(f"{name:12}{seconds:8.1f}{n_mb:10.2f}{model.n_passes_:8}", flush=True)


if __name__ == "__main__":
    main()

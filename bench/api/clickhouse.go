package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	chengine "github.com/mintlake/mintlake/embedded/clickhouse"
	"github.com/mintlake/mintlake/internal/clickhouse"
	"github.com/mintlake/mintlake/internal/testkit/registrytest"
	"github.com/mintlake/mintlake/replica/search"
)

// clickHouseTable keeps the trigrams beside the texts, because ClickHouse has no function for the
// similarity that pg_trgm computes.
const clickHouseTable = `CREATE TABLE tokens (
  id UInt32, mint String, symbol String, name String, volume Nullable(Float64), seen Int64,
  symbol_grams Array(UInt64), name_grams Array(UInt64),
  INDEX by_mint mint TYPE bloom_filter GRANULARITY 1,
  INDEX by_symbol symbol TYPE text(tokenizer = ngrams(3)),
  INDEX by_name name TYPE text(tokenizer = ngrams(3)),
  PROJECTION by_volume (SELECT id, volume, seen, mint ORDER BY coalesce(-volume, 1), seen, mint)
) ENGINE = MergeTree ORDER BY (symbol, name, mint)`

type clickHouse struct {
	conn driver.Conn
	stop context.CancelFunc
	done chan error
}

func newClickHouse(ctx context.Context, dir string) (*clickHouse, error) {
	e, err := chengine.New(chengine.Config{DataDir: filepath.Join(dir, "data"), Addr: "127.0.0.1:0", NoSync: true}, chengine.Deps{})
	if err != nil {
		return nil, err
	}
	running, stop := context.WithCancel(ctx)
	c := &clickHouse{stop: stop, done: make(chan error, 1)}
	go func() { c.done <- e.Run(running) }()
	if err := e.WaitReady(ctx); err != nil {
		c.close()
		return nil, err
	}
	if c.conn, err = clickhouse.Open(ctx, e.DSN()); err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

func (c *clickHouse) name() string { return "clickhouse" }

func (c *clickHouse) notes() []string {
	return []string{"the embedded ClickHouse, all cores for a query", strings.Join(strings.Fields(clickHouseTable), " ")}
}

func (c *clickHouse) close() {
	c.stop()
	_ = <-c.done //nolint:staticcheck // an error at the end changes no figure
}

func (c *clickHouse) load(ctx context.Context, corpus *registrytest.Corpus, tokens int) error {
	if err := c.conn.Exec(ctx, clickHouseTable); err != nil {
		return err
	}
	for from := 0; from < tokens; from += batchSize {
		batch, err := c.conn.PrepareBatch(ctx, "INSERT INTO tokens")
		if err != nil {
			return err
		}
		for i := from; i < min(tokens, from+batchSize); i++ {
			token := corpus.Token(i)
			symbol, name := search.Normalise(token.Symbol), search.Normalise(token.Name)
			var volume *float64
			if token.Volume > 0 {
				volume = &token.Volume
			}
			if err := batch.Append(uint32(i), token.Mint.String(), symbol, name, volume, token.FirstSeen, trigrams(symbol), trigrams(name)); err != nil {
				return err
			}
		}
		if err := batch.Send(); err != nil {
			return err
		}
	}
	return c.conn.Exec(ctx, "OPTIMIZE TABLE tokens FINAL")
}

const clickHouseTop = `SELECT id, (SELECT count() FROM tokens) FROM tokens ORDER BY coalesce(-volume, 1), seen, mint LIMIT 50`

// clickHouseSearch is the query for fmt.Sprintf: %[1]s is the text, %[2]s its trigrams, %[3]d its
// length, %[4]s the mint.
const clickHouseSearch = `
WITH '%[1]s' AS q, [%[2]s]::Array(UInt64) AS grams, %[3]d AS n, length(grams) AS g,
  arrayCount(x -> x IN (%[2]s), symbol_grams) AS ss, arrayCount(x -> x IN (%[2]s), name_grams) AS sn,
  if(ss = 0, 0, ss / (g + length(symbol_grams) - ss)) AS by_symbol, if(sn = 0, 0, sn / (g + length(name_grams) - sn)) AS by_name,
  symbol != '' AND abs(toInt64(lengthUTF8(symbol)) - n) <= 1 AND editDistanceUTF8(if(abs(toInt64(lengthUTF8(symbol)) - n) <= 1, symbol, ''), q) = 1 AS edit,
  multiIf(mint = '%[4]s', 1, symbol = q, 2, startsWith(symbol, q), 3, startsWith(name, q), 4, position(symbol, q) > 0 OR position(name, q) > 0, 5,
    edit OR greatest(by_symbol, by_name) >= 0.3, 6, 7) AS tier
SELECT id, count() OVER () FROM tokens WHERE tier < 7
ORDER BY tier, multiIf(tier < 5, 0, tier = 6 AND edit, greatest(by_symbol, by_name, 1 - 1 / greatest(n, lengthUTF8(symbol))), greatest(by_symbol, by_name)) DESC,
  volume DESC NULLS LAST, seen, mint LIMIT 50`

func (c *clickHouse) search(ctx context.Context, q *query) (a answer, err error) {
	sql := clickHouseTop
	if q.normalised != "" {
		quote := strings.NewReplacer(`\`, `\\`, `'`, `\'`)
		grams := "0" // no token has this trigram
		if list := trigrams(q.normalised); len(list) > 0 {
			grams = strings.Trim(strings.Join(strings.Fields(fmt.Sprint(list)), ","), "[]")
		}
		sql = fmt.Sprintf(clickHouseSearch, quote.Replace(q.normalised), grams, utf8.RuneCountInString(q.normalised), quote.Replace(strings.TrimSpace(q.text)))
	}
	rows, err := c.conn.Query(ctx, sql)
	if err != nil {
		return a, err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var id uint32
		var total uint64
		if err := rows.Scan(&id, &total); err != nil {
			return a, err
		}
		a.ids, a.total = append(a.ids, int(id)), int(total)
	}
	return a, rows.Err()
}

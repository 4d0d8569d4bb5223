package main

import (
	"context"
	"fmt"

	"github.com/mintlake/mintlake/bench/postgres"
)

// peer is PostgreSQL with a table of accounts and one of changes, and the indexes that anybody
// would make.
type peer struct{ *postgres.Server }

func (p *peer) load(ctx context.Context, o *options) error {
	for _, statement := range []string{
		`CREATE UNLOGGED TABLE changes (mint int, account bytea, slot bigint, owner bytea, amount bigint)`,
		fmt.Sprintf(`INSERT INTO changes SELECT 1, sha256((n %% %[1]d)::text::bytea), %[2]d + n * %[3]d / %[4]d, sha256(('o' || n %% %[1]d)::bytea), 1 + hashint8(n) & 1048575
			FROM generate_series(0, %[4]d::bigint - 1) AS n`, o.holders, created, span, o.changes),
		`CREATE INDEX ON changes (mint, account, slot DESC)`,
		`CREATE UNLOGGED TABLE accounts AS SELECT DISTINCT ON (mint, account) * FROM changes ORDER BY mint, account, slot DESC`,
		`CREATE INDEX ON accounts (mint, amount DESC)`,
		`CREATE INDEX ON accounts (mint, owner)`,
		`VACUUM ANALYZE`,
	} {
		if _, err := p.Pool.Exec(ctx, statement); err != nil {
			return fmt.Errorf("%.60s…: %w", statement, err)
		}
	}
	return nil
}

func (p *peer) page(ctx context.Context) error {
	return p.rows(ctx, `SELECT owner, sum(amount) AS held FROM accounts WHERE mint = 1 GROUP BY owner ORDER BY held DESC, owner LIMIT 100`, 100)
}

func (p *peer) count(ctx context.Context) error {
	return p.rows(ctx, `SELECT count(DISTINCT owner) FROM accounts WHERE mint = 1 AND amount > 0`, 1)
}

func (p *peer) atSlot(ctx context.Context) error {
	return p.rows(ctx, fmt.Sprintf(`SELECT owner, sum(amount) AS held FROM (
		SELECT DISTINCT ON (account) owner, amount FROM changes WHERE mint = 1 AND slot <= %d ORDER BY account, slot DESC) AS latest
		GROUP BY owner ORDER BY held DESC, owner LIMIT 100`, middle), 100)
}

func (p *peer) rows(ctx context.Context, query string, want int) error {
	rows, err := p.Pool.Query(ctx, query)
	if err != nil {
		return err
	}
	defer rows.Close()
	n := 0
	for rows.Next() {
		n++
	}
	if err := rows.Err(); err != nil {
		return err
	}
	if n != want {
		return fmt.Errorf("%d rows in place of %d", n, want)
	}
	return nil
}

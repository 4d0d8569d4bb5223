package main

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"

	server "github.com/mintlake/mintlake/bench/postgres"
	"github.com/mintlake/mintlake/internal/testkit/registrytest"
	"github.com/mintlake/mintlake/replica/search"
)

var postgresIndexes = []string{
	`CREATE UNIQUE INDEX ON tokens (mint)`,
	`CREATE INDEX ON tokens (symbol text_pattern_ops)`,
	`CREATE INDEX ON tokens (name text_pattern_ops)`,
	`CREATE INDEX ON tokens (volume DESC NULLS LAST, seen ASC NULLS LAST, mint) INCLUDE (id)`,
	`CREATE INDEX ON tokens (char_length(symbol), symbol text_pattern_ops)`,
	`CREATE INDEX ON tokens (char_length(symbol), reverse(symbol) text_pattern_ops)`,
	`CREATE INDEX ON tokens USING gin (symbol gin_trgm_ops) WITH (fastupdate = off)`,
	`CREATE INDEX ON tokens USING gin (name gin_trgm_ops) WITH (fastupdate = off)`,
}

type postgres struct{ *server.Server }

func newPostgres(ctx context.Context, bin, dir string) (*postgres, error) {
	started, err := server.Start(ctx, bin, dir)
	return &postgres{started}, err
}

func (p *postgres) name() string { return "postgres" }

func (p *postgres) notes() []string {
	notes := []string{"PostgreSQL 15 with pg_trgm and fuzzystrmatch, settings " + fmt.Sprint(server.Settings)}
	return append(notes, postgresIndexes...)
}

func (p *postgres) close() { p.Close() }

func (p *postgres) load(ctx context.Context, c *registrytest.Corpus, tokens int) error {
	for _, statement := range []string{
		`CREATE EXTENSION pg_trgm`, `CREATE EXTENSION fuzzystrmatch`,
		`CREATE UNLOGGED TABLE tokens (id int, mint text COLLATE "C", symbol text, name text, volume float8, seen bigint)`,
		`CREATE TABLE total (tokens bigint)`,
	} {
		if _, err := p.Pool.Exec(ctx, statement); err != nil {
			return err
		}
	}
	i := 0
	rows := pgx.CopyFromFunc(func() ([]any, error) {
		if i == tokens {
			return nil, nil
		}
		token := c.Token(i)
		i++
		var volume *float64
		if token.Volume > 0 {
			volume = &token.Volume
		}
		return []any{i - 1, token.Mint.String(), withoutNul(search.Normalise(token.Symbol)), withoutNul(search.Normalise(token.Name)), volume, token.FirstSeen}, nil
	})
	if _, err := p.Pool.CopyFrom(ctx, pgx.Identifier{"tokens"}, []string{"id", "mint", "symbol", "name", "volume", "seen"}, rows); err != nil {
		return err
	}
	for _, statement := range append(append([]string{`INSERT INTO total SELECT count(*) FROM tokens`}, postgresIndexes...), `VACUUM ANALYZE tokens`) {
		if _, err := p.Pool.Exec(ctx, statement); err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
	}
	return nil
}

// withoutNul removes NUL, which PostgreSQL's texts cannot hold.
func withoutNul(text string) string { return strings.ReplaceAll(text, "\x00", "") }

const postgresTop = `SELECT id, (SELECT tokens FROM total) FROM tokens ORDER BY volume DESC NULLS LAST, seen ASC NULLS LAST, mint LIMIT 50`

// postgresSearch finds and ranks tokens. $1 is the text, $2 the text as a LIKE pattern, $3 its
// length, $4 the mint.
//
// $5 to $10 find symbols one edit away by an index. Such a symbol has one character less, as many,
// or one more. The edit is in one half of it, so the other half is as in the text: for each length
// there is a pattern for the first half, and one for the last half, reversed.
const postgresSearch = `
WITH found AS (
  SELECT id, mint, symbol, name, volume, seen, similarity(symbol, $1) AS by_symbol, similarity(name, $1) AS by_name,
    CASE WHEN abs(char_length(symbol) - $3) <= 1 AND symbol <> '' THEN levenshtein(symbol, $1) = 1 ELSE false END AS edit
  FROM tokens
  WHERE mint = $4 OR symbol LIKE '%' || $2 || '%' OR name LIKE '%' || $2 || '%' OR symbol % $1 OR name % $1
    OR char_length(symbol) = $3 - 1 AND symbol LIKE $5 OR char_length(symbol) = $3 - 1 AND reverse(symbol) LIKE $6
    OR char_length(symbol) = $3 AND symbol LIKE $7 OR char_length(symbol) = $3 AND reverse(symbol) LIKE $8
    OR char_length(symbol) = $3 + 1 AND symbol LIKE $9 OR char_length(symbol) = $3 + 1 AND reverse(symbol) LIKE $10
), ranked AS (
  SELECT id, mint, volume, seen, edit, by_symbol, by_name, symbol, CASE
    WHEN mint = $4 THEN 1 WHEN symbol = $1 THEN 2 WHEN symbol LIKE $2 || '%' THEN 3 WHEN name LIKE $2 || '%' THEN 4
    WHEN symbol LIKE '%' || $2 || '%' OR name LIKE '%' || $2 || '%' THEN 5
    WHEN edit OR greatest(by_symbol, by_name) >= 0.3::real THEN 6 ELSE 7 END AS tier
  FROM found
)
SELECT id, count(*) OVER () FROM ranked WHERE tier < 7
ORDER BY tier, CASE WHEN tier < 5 THEN 0::real WHEN tier = 6 AND edit
  THEN greatest(by_symbol, by_name, (1 - 1 / greatest($3, char_length(symbol))::float8)::real) ELSE greatest(by_symbol, by_name) END DESC,
  volume DESC NULLS LAST, seen ASC NULLS LAST, mint LIMIT 50`

func (p *postgres) search(ctx context.Context, q *query) (answer, error) {
	if q.normalised == "" {
		return p.rows(ctx, postgresTop)
	}
	return p.rows(ctx, postgresSearch, postgresArgs(q)...)
}

// postgresArgs returns the arguments of postgresSearch.
func postgresArgs(q *query) []any {
	text := withoutNul(q.normalised)
	runes := []rune(text)
	pattern := strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`)
	args := []any{text, pattern.Replace(text), utf8.RuneCountInString(text), strings.TrimSpace(q.text)}
	for length := len(runes) - 1; length <= len(runes)+1; length++ {
		if length == 0 {
			args = append(args, "x", "xx") // match nothing: no symbol of length 0 is like these
			continue
		}
		first, last := length/2, length-length/2
		backwards := []rune(string(runes[max(0, len(runes)-last):]))
		for i, j := 0, len(backwards)-1; i < j; i, j = i+1, j-1 {
			backwards[i], backwards[j] = backwards[j], backwards[i]
		}
		args = append(args, pattern.Replace(string(runes[:min(first, len(runes))]))+"%", pattern.Replace(string(backwards))+"%")
	}
	return args
}

func (p *postgres) rows(ctx context.Context, sql string, args ...any) (a answer, err error) {
	rows, err := p.Pool.Query(ctx, sql, args...)
	if err != nil {
		return a, err
	}
	defer rows.Close()
	for rows.Next() {
		var id int
		if err := rows.Scan(&id, &a.total); err != nil {
			return a, err
		}
		a.ids = append(a.ids, id)
	}
	return a, rows.Err()
}

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/mintlake/mintlake/internal/testkit/registrytest"
	"github.com/mintlake/mintlake/replica/search"
)

// postgresSettings tune a server that this program has for itself, for two cores and data that fit
// into memory. The data need not survive a crash.
var postgresSettings = map[string]string{
	"shared_buffers": "2GB", "effective_cache_size": "6GB", "work_mem": "256MB", "maintenance_work_mem": "1GB", "random_page_cost": "1.1", "jit": "off",
	"max_parallel_workers_per_gather": "2", "max_parallel_maintenance_workers": "2", "fsync": "off", "synchronous_commit": "off", "full_page_writes": "off",
	"max_wal_size": "8GB", "autovacuum": "off", "plan_cache_mode": "force_custom_plan", "listen_addresses": "", "pg_trgm.similarity_threshold": "0.3",
}

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

type postgres struct {
	server *exec.Cmd
	pool   *pgxpool.Pool
}

// newPostgres starts a server in dir that listens only on a Unix socket. PostgreSQL refuses to run
// as root, so then the server runs as user postgres.
func newPostgres(ctx context.Context, bin, dir string) (*postgres, error) {
	attributes := &syscall.SysProcAttr{Setpgid: true}
	if os.Getuid() == 0 {
		owner, err := user.Lookup("postgres")
		if err != nil {
			return nil, err
		}
		uid, _ := strconv.Atoi(owner.Uid)
		gid, _ := strconv.Atoi(owner.Gid)
		if err := os.Chown(dir, uid, gid); err != nil {
			return nil, err
		}
		attributes.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	}
	data := filepath.Join(dir, "data")
	initdb := exec.CommandContext(ctx, filepath.Join(bin, "initdb"), "-D", data, "-U", "bench", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync") //nolint:gosec // the folder is the user's to name
	initdb.SysProcAttr, initdb.Dir = attributes, dir
	if out, err := initdb.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("initdb: %w: %s", err, out)
	}
	args := []string{"-D", data, "-k", dir}
	for key, value := range postgresSettings {
		if !strings.Contains(key, ".") {
			args = append(args, "-c", key+"="+value)
		}
	}
	p := &postgres{server: exec.Command(filepath.Join(bin, "postgres"), args...)} //nolint:gosec // the folder is the user's to name
	p.server.SysProcAttr, p.server.Dir = attributes, dir
	if err := p.server.Start(); err != nil {
		return nil, err
	}
	config, err := pgxpool.ParseConfig("host=" + dir + " user=bench dbname=postgres")
	if err != nil {
		return nil, errors.Join(err, p.stop())
	}
	config.MaxConns = 8
	if p.pool, err = pgxpool.NewWithConfig(ctx, config); err != nil {
		return nil, errors.Join(err, p.stop())
	}
	for range 300 {
		if err = p.pool.Ping(ctx); err == nil {
			return p, nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	p.close()
	return nil, err
}

func (p *postgres) stop() error {
	err := p.server.Process.Signal(syscall.SIGQUIT)
	_ = p.server.Wait()
	return err
}

func (p *postgres) name() string { return "postgres" }

func (p *postgres) notes() []string {
	notes := []string{"PostgreSQL 15 with pg_trgm and fuzzystrmatch, settings " + fmt.Sprint(postgresSettings)}
	return append(notes, postgresIndexes...)
}

func (p *postgres) close() {
	p.pool.Close()
	_ = p.stop()
}

func (p *postgres) load(ctx context.Context, c *registrytest.Corpus, tokens int) error {
	for _, statement := range []string{
		`CREATE EXTENSION pg_trgm`, `CREATE EXTENSION fuzzystrmatch`,
		`CREATE UNLOGGED TABLE tokens (id int, mint text COLLATE "C", symbol text, name text, volume float8, seen bigint)`,
		`CREATE TABLE total (tokens bigint)`,
	} {
		if _, err := p.pool.Exec(ctx, statement); err != nil {
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
	if _, err := p.pool.CopyFrom(ctx, pgx.Identifier{"tokens"}, []string{"id", "mint", "symbol", "name", "volume", "seen"}, rows); err != nil {
		return err
	}
	for _, statement := range append(append([]string{`INSERT INTO total SELECT count(*) FROM tokens`}, postgresIndexes...), `VACUUM ANALYZE tokens`) {
		if _, err := p.pool.Exec(ctx, statement); err != nil {
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
	rows, err := p.pool.Query(ctx, sql, args...)
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

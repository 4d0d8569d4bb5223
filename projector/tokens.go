package projector

import (
	"context"
	_ "embed"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mintlake/mintlake/internal/clickhouse"
	"github.com/mintlake/mintlake/registry"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// TableTokens has a row for each mint, which is made of its facts.
const TableTokens = "tokens_raw"

// foldChunk bounds the mints of one statement: the list is part of the query, whose text ClickHouse
// bounds to 256 KiB. Few large statements are faster, because each takes a tenth of a second before
// it reads its first row.
const foldChunk = 5000

// tokensSQL makes rows of tokens_raw from facts. It is registry.State.Token in SQL. A property test
// proves that both give the same.
//
//go:embed tokens.sql
var tokensSQL string

// believedSQL are the facts of mints that a retraction is about. The facts of all others are those
// of token_facts_raw.
//
//go:embed believed.sql
var believedSQL string

func tokenColumns() []clickhouse.Column {
	return []clickhouse.Column{
		{Name: "mint", Type: "String"},
		{Name: "symbol", Type: "String"},
		{Name: "name", Type: "String"},
		{Name: "decimals", Type: "UInt8"},
		{Name: "logo_url", Type: "Nullable(String)"},
		{Name: "logo_status", Type: "LowCardinality(String)"},
		{Name: "is_token22", Type: "Bool"},
		{Name: "daily_volume_usd", Type: "Nullable(Float64)"},
		{Name: "first_seen_at", Type: "Nullable(DateTime64(3, 'UTC'))"},
		{Name: "last_seen_at", Type: "Nullable(DateTime64(3, 'UTC'))"},
		{Name: "supply", Type: "Nullable(UInt64)"},
		{Name: "mint_authority", Type: "Nullable(String)"},
		{Name: "freeze_authority", Type: "Nullable(String)"},
		{Name: "metaplex_uri", Type: "Nullable(String)"},
		{Name: "update_authority", Type: "Nullable(String)"},
		{Name: "seller_fee_basis_points", Type: "Nullable(UInt16)"},
		{Name: "token_standard", Type: "Nullable(UInt8)"},
		{Name: "description", Type: "Nullable(String)"},
		{Name: "external_url", Type: "Nullable(String)"},
		{Name: "extensions", Type: "Map(String, String)"},
		{Name: "tags", Type: "Array(String)"},
		{Name: "launchpad", Type: "LowCardinality(Nullable(String))"},
		{Name: "creator", Type: "Nullable(String)"},
		{Name: "graduated_at", Type: "Nullable(DateTime64(3, 'UTC'))"},
		{Name: "is_member", Type: "Bool"},
		{Name: "facts", Type: "Array(Tuple(register UInt8, item String, position UInt128, value String))"},
		{Name: "row_version", Type: "UInt256"},
		{Name: "rules", Type: "UInt16"},
	}
}

// rules is the number of the rules in tokens.sql. A change that makes other rows of the same facts
// must raise it: the next start then makes all rows of earlier rules again.
//
//	1: reserved tags come only from token lists, whose tags stand beside the creator's
//	2: a list's later version can take a token off
//	3: names, symbols and fields of the chain without control characters
const rules = 3

// Outdated reports whether rows of tokens were made by earlier rules. A node of an earlier version
// may make such rows until it stops; the next start then finds them.
func (c *ClickHouse) Outdated(ctx context.Context) (bool, error) {
	var rows uint64
	query := "SELECT count() FROM (SELECT 1 FROM " + c.database + "." + TableTokens + " FINAL WHERE rules < " + strconv.Itoa(rules) + " LIMIT 1)"
	if err := c.conn.QueryRow(ctx, query).Scan(&rows); err != nil {
		return false, fmt.Errorf("look for rows of earlier rules: %w", err)
	}
	return rows > 0, nil
}

// foldTokens computes the rows of these mints again from all facts stored about them.
func (c *ClickHouse) foldTokens(ctx context.Context, mints []pubkey.Key) error {
	for start := 0; start < len(mints); start += foldChunk {
		chunk := mints[start:min(start+foldChunk, len(mints))]
		texts := make([]string, len(chunk)) // base58: nothing in it needs quoting
		for i, mint := range chunk {
			texts[i] = mint.String()
		}
		where := "mint IN ('" + strings.Join(texts, "','") + "')"
		if err := c.conn.Exec(ctx, c.foldStatement(where)); err != nil {
			return fmt.Errorf("fold %d mints: %w", len(chunk), err)
		}
		if err := c.foldRetracted(ctx, where); err != nil {
			return err
		}
	}
	return nil
}

// foldRetracted computes the rows of the mints for which the condition where holds and which a
// retraction is about. foldStatement leaves them out, as token_facts_raw has not all their facts.
func (c *ClickHouse) foldRetracted(ctx context.Context, where string) error {
	var mints []string
	query := "SELECT groupUniqArray(mint) FROM " + c.database + "." + tableTokenFacts + " WHERE register = " + strconv.Itoa(int(registry.RegisterRetraction)) + " AND " + where
	if err := c.conn.QueryRow(ctx, query).Scan(&mints); err != nil {
		return fmt.Errorf("look for retractions: %w", err)
	}
	for chunk := range slices.Chunk(mints, retractedChunk) {
		if err := c.conn.Exec(ctx, c.foldBelieved("mint IN ('"+strings.Join(chunk, "','")+"')")); err != nil {
			return fmt.Errorf("fold %d mints with retractions: %w", len(chunk), err)
		}
	}
	return nil
}

// retractedChunk bounds the mints of one statement that reads their history. Most have few facts,
// but a busy mint has one for each change of its supply. The list is in the statement three times.
const retractedChunk = 1000

// foldsAll reports whether folding all mints is cheaper than looking these up. Measured over
// 200,000 mints, a mint costs an eighth as much if all are folded as if it is looked up.
func (c *ClickHouse) foldsAll(ctx context.Context, dirty Dirty) (bool, error) {
	if dirty.All || len(dirty.Mints) < minFoldAll {
		return dirty.All, nil
	}
	var rows uint64
	if err := c.conn.QueryRow(ctx, "SELECT count() FROM "+c.database+"."+TableTokens).Scan(&rows); err != nil {
		return false, fmt.Errorf("count tokens: %w", err)
	}
	return uint64(len(dirty.Mints)) > rows/8, nil
}

// minFoldAll is the number of mints below which foldsAll does not count the table: both ways then
// take about a second.
const minFoldAll = 10_000

// defaultFoldRange is about how many facts one statement of foldAllTokens reads: a few seconds of
// work.
const defaultFoldRange = 2_000_000

// foldAllTokens makes the rows of all mints, range by range. The table is in the order of mints, so
// a range is read once, in order, and grouped as it comes. The size of a range decides how long a
// statement takes, not how much memory it needs.
func (c *ClickHouse) foldAllTokens(ctx context.Context) error {
	bounds, err := c.ranges(ctx)
	if err != nil {
		return err
	}
	from := ""
	for _, to := range append(bounds, "") {
		where := "mint >= '" + from + "'"
		if to != "" {
			where += " AND mint < '" + to + "'"
		}
		if err := c.conn.Exec(ctx, c.foldStatement(where)+foldAllSettings); err != nil {
			return fmt.Errorf("fold mints from %s: %w", from, err)
		}
		from = to
	}
	return c.foldRetracted(ctx, "mint != ''")
}

// foldAllSettings bound the memory of one statement: a group ends with its mint, and rows are
// written in blocks of some 30 MB.
const foldAllSettings = " SETTINGS optimize_aggregation_in_order = 1, max_insert_threads = 1, max_block_size = 8192," +
	" min_insert_block_size_rows = 65536, min_insert_block_size_bytes = 67108864"

// ranges returns the mints that divide the table into parts of about c.foldRange facts, sorted.
func (c *ClickHouse) ranges(ctx context.Context) ([]string, error) {
	table := c.database + "." + tableTokenFacts
	var rows uint64
	if err := c.conn.QueryRow(ctx, "SELECT count() FROM "+table).Scan(&rows); err != nil {
		return nil, fmt.Errorf("count facts: %w", err)
	}
	cuts := rows / c.foldRange
	if cuts == 0 {
		return nil, nil
	}
	var sample []string
	query := "SELECT groupArraySample(" + strconv.Itoa(rangeSample) + ", 1)(mint) FROM " + table
	if err := c.conn.QueryRow(ctx, query).Scan(&sample); err != nil {
		return nil, fmt.Errorf("sample facts: %w", err)
	}
	slices.Sort(sample)
	bounds := make([]string, 0, cuts)
	for i := range int(cuts) {
		bounds = append(bounds, sample[(i+1)*len(sample)/(int(cuts)+1)])
	}
	return slices.Compact(bounds), nil
}

// rangeSample is how many random facts ranges reads the mints of.
const rangeSample = 10_000

// foldStatement returns the statement that folds the mints for which the condition where holds,
// except those that a retraction is about.
func (c *ClickHouse) foldStatement(where string) string {
	return c.tokensStatement("{database}.token_facts_raw FINAL WHERE "+where, "0", "HAVING countIf(register = 30) = 0")
}

// foldBelieved returns the statement that folds the mints for which the condition where holds, of
// all that was ever stated about them and was not taken back.
func (c *ClickHouse) foldBelieved(where string) string {
	return c.tokensStatement(strings.ReplaceAll(believedSQL, "mint IN ({mints})", where), "any(taken)", "")
}

// tokensStatement returns the statement that makes rows of facts. taken is an expression for the
// number of ranges that were taken back.
func (c *ClickHouse) tokensStatement(facts, taken, having string) string {
	statement := strings.NewReplacer("{facts}", facts, "{taken}", taken, "{having}", having).Replace(tokensSQL)
	return strings.NewReplacer(
		"{database}", c.database,
		"{columns}", strings.Join(clickhouse.Names(tokenColumns()), ", "),
		"{uri_pattern}", clickhouse.Literal(registry.URIPattern),
		"{break_pattern}", clickhouse.Literal(registry.BreakPattern),
		"{hidden_pattern}", clickhouse.Literal(registry.HiddenPattern),
		"{reserved_tags}", "'"+strings.Join(registry.ReservedTags(), "', '")+"'",
		"{rules}", strconv.Itoa(rules),
		"{metadata_program}", "'"+hex.EncodeToString(registry.MetadataProgram().Bytes())+"'",
		// Bumps of registry.IsEdition.
		"{edition_bumps}", fmt.Sprintf("%d, %d", registry.EditionBumpFrom, registry.EditionBumpTo+1),
	).Replace(statement)
}

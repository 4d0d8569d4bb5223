package volume_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit"
	"github.com/mintlake/mintlake/internal/testkit/chtest"
)

var analyticsLegs = flag.String("analytics-legs", "2,4,8", "millions of legs at which BenchmarkAnalytics asks its questions, growing")

const (
	billion = 1_000_000_000
	// benchStep is how many legs are written at once: a share of the market of ten days.
	benchStep = 2_000_000
	// benchDays is how many days of mainnet a billion legs are.
	benchDays = 10
)

// marketSQL fills the tables with one more share of the market: benchStep legs of ten days, on
// pools and mints of their own. So every table grows as on mainnet when more of the market is
// looked at, and what a query reads grows with the share. The rates are those of docs/sizing.md.
//
//   - A minute's pools: half of them trade in every minute, the others are drawn from those of the
//     hour, those from those of the day.
//   - A quarter of the legs is by 300 bots, the rest by 4 million wallets with a long tail. A
//     transaction has one leg and a half.
//   - {share} is the number of the share, {n} are its legs.
var marketSQL = []string{
	`INSERT INTO mintlake.swaps_raw (slot, block_time, transaction_index, instruction_index, inner_instruction_index, batch_index, signature_head, signature_rest,
		venue, program_id, pool, mint_a, mint_b, in_is_a, amount_in, amount_out, decimals_in, decimals_out, trader, usd_value, agreed, disagreed, aggregator, instruction, version)
	WITH
		intDiv(number * 2, 3) AS tx, cityHash64(tx, {share}) AS of_tx, cityHash64(number, {share}, 1) AS of_leg,
		(of_leg % 1000000) / 1000000 AS u, toUInt64(floor({per_minute} * u * u)) AS rank,
		intDiv(tx * 1440 * {days} * 3, {n} * 2) AS minute, intDiv(minute, 60) AS hour, intDiv(minute, 1440) AS day,
		multiIf(rank * 2 < {per_minute}, rank, {per_minute} + cityHash64(hour, cityHash64(minute, rank) % {per_hour}) % {per_day}) AS in_day,
		if(in_day < {per_day} / 2, in_day, in_day + day * {per_day}) AS n,
		lower(hex(sipHash128(n, {share}, 'p'))) || 'poolpoolpool' AS pool_key, lower(hex(sipHash128(n, {share}, 'm'))) || 'mintmintmint' AS mint_key,
		multiIf(n = 0, 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v', mint_key) AS mint,
		if(n % 20 = 7, 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v', '{sol}') AS quote,
		concat(sipHash128(of_tx, 1), sipHash128(of_tx, 2), sipHash128(of_tx, 3), sipHash128(of_tx, 4)) AS signature,
		if(of_tx % 4 = 0, of_tx % 300, 300 + toUInt64(pow((of_tx % 999983) / 999983, 3) * 4000000)) AS wallet,
		toDateTime('2026-11-01 00:00:00', 'UTC') AS begin
	SELECT 400000000 + intDiv(tx * 216000 * {days} * 3, {n} * 2), begin + intDiv(tx * 86400 * {days} * 3, {n} * 2), tx % 1500, 2 + of_leg % 3, (number % 3) * 4, -1,
		toFixedString(substring(signature, 1, 12), 12), toFixedString(substring(signature, 13, 52), 52),
		['pumpswap', 'raydium_clmm', 'meteora_dlmm', 'orca_whirlpool', 'raydium_amm_v4', 'raydium_cpmm', 'pump', 'phoenix'][1 + n % 8],
		lower(hex(sipHash128(n % 8))) || 'programprogr', pool_key, least(mint, quote), greatest(mint, quote), of_leg % 2 = 0,
		1 + toUInt64(exp2(25 + of_leg % 9)), 1 + toUInt64(exp2(25 + of_tx % 9)), if(of_leg % 2 = 0, 6, 9), if(of_leg % 2 = 0, 9, 6),
		lower(hex(sipHash128(wallet, 't'))) || 'wallwallwall', if(of_leg % 97 = 0, NULL, toDecimal64(exp2((of_leg % 160) / 10) / 10, 6)),
		if(of_leg % 50 = 0, 1, 3), of_leg % 1000 = 0, ['', '', '', 'jupiter_v6', 'okx', 'dflow'][1 + of_tx % 6], 'swap', {share}
	FROM numbers({n})`,
	`INSERT INTO mintlake.pools_raw (pool, mint_a, mint_b, venue, decimals_a, decimals_b, creation, first, last)
	SELECT pool, mint_a, mint_b, max(venue), 6, 9, (min(position), min(block_time), '', max(trader)), (min(position), min(block_time)), (max(position), max(block_time), 1000000 * count(), 9000000 * count())
	FROM mintlake.swaps_raw WHERE version = {share} GROUP BY pool, mint_a, mint_b`,
	`INSERT INTO mintlake.pool_volume_1m_raw (bucket, pool, mint_a, mint_b, venue, volume_usd, user_volume_usd, trades, unpriced, traders, amount_a, amount_b, generation)
	SELECT toStartOfMinute(block_time) AS minute, pool, mint_a, mint_b, max(venue), sum(usd_value), sum(usd_value), count(), countIf(isNull(usd_value)), uniqExact(trader), sum(amount_in), sum(amount_out), 1
	FROM mintlake.swaps_raw WHERE version = {share} GROUP BY minute, pool, mint_a, mint_b`,
	`INSERT INTO mintlake.pool_volume_1h_raw (bucket, pool, mint_a, mint_b, venue, volume_usd, user_volume_usd, trades, unpriced, traders, trader_set, amount_a, amount_b, generation)
	SELECT toStartOfHour(block_time) AS hour, pool, mint_a, mint_b, max(venue), sum(usd_value), sum(usd_value), count(), countIf(isNull(usd_value)), uniqExact(trader),
		uniqExactState(sipHash64(trader)), sum(amount_in), sum(amount_out), 1
	FROM mintlake.swaps_raw WHERE version = {share} GROUP BY hour, pool, mint_a, mint_b`,
	`INSERT INTO mintlake.volume_1m_raw (bucket, mint, volume_usd, user_volume_usd, trades, unpriced, traders, last_trade_at, open, high, low, close, generation)
	SELECT toStartOfMinute(block_time) AS minute, mint, sum(usd_value), sum(usd_value), count(), countIf(isNull(usd_value)), uniqExact(trader), max(block_time), 1, 2, 0.5, 1.5, {share}
	FROM mintlake.swaps_raw ARRAY JOIN [mint_a, mint_b] AS mint WHERE version = {share} GROUP BY minute, mint`,
	`INSERT INTO mintlake.volume_1h_raw (bucket, mint, volume_usd, user_volume_usd, organic_volume_usd, trades, unpriced, traders, trader_set, open, high, low, close, generation)
	SELECT toStartOfHour(block_time) AS hour, mint, sum(usd_value), sum(usd_value), sum(usd_value) / 2, count(), countIf(isNull(usd_value)), uniqExact(trader),
		uniqExactState(sipHash64(trader)), 1, 2, 0.5, 1.5, {share}
	FROM mintlake.swaps_raw ARRAY JOIN [mint_a, mint_b] AS mint WHERE version = {share} GROUP BY hour, mint`,
	`INSERT INTO mintlake.volume_1d_raw (bucket, mint, volume_usd, user_volume_usd, organic_volume_usd, trades, unpriced, traders, open, high, low, close, generation)
	SELECT toStartOfDay(bucket), mint, sum(volume_usd), sum(user_volume_usd), sum(organic_volume_usd), sum(trades), sum(unpriced), sum(traders), 1, 2, 0.5, 1.5, {share}
	FROM mintlake.volume_1h_raw WHERE generation = {share} GROUP BY toStartOfDay(bucket), mint`,
	`INSERT INTO mintlake.prices_1m_raw (mint, minute, price_usd, raw_price_usd, liquidity_usd, pool, generation)
	SELECT mint, bucket, 1, 1e-6, 50000, lower(hex(sipHash128(mint))) || 'poolpoolpool', {share} FROM mintlake.volume_1m_raw WHERE generation = {share}`,
	`INSERT INTO mintlake.daily_volumes_raw (mint, until, volume_usd, user_volume_usd, organic_volume_usd, trades, price_usd, last_trade_at, generation)
	SELECT mint, toDateTime('2026-11-10 23:59:59', 'UTC'), sum(volume_usd), sum(user_volume_usd), sum(organic_volume_usd), sum(trades), 1, toDateTime('2026-11-10 23:59:00', 'UTC'), 1
	FROM mintlake.volume_1d_raw WHERE generation = {share} AND bucket = toDateTime('2026-11-10 00:00:00', 'UTC') GROUP BY mint`,
	`INSERT INTO mintlake.last_trades_raw (mint, last_trade_at) SELECT mint, max(bucket) FROM mintlake.volume_1h_raw WHERE generation = {share} GROUP BY mint`,
	// Tokens that nobody trades any more, and those that trade.
	`INSERT INTO mintlake.tokens_raw (mint, symbol, name, decimals, logo_status, is_token22, first_seen_at, last_seen_at, supply, mint_authority, is_member, row_version)
	SELECT mint, upper(substring(mint, 1, 3)), substring(mint, 1, 12), if(mint = '{sol}', 9, 6), 'ok', false, now64(3), now64(3), 1, if(startsWith(mint, 'EPj') OR cityHash64(mint) % 5 = 0, mint, NULL), true, 1
	FROM (SELECT lower(hex(sipHash128(number, {share}, 'q'))) || 'mintmintmint' AS mint FROM numbers(intDiv({n}, 500)) UNION ALL SELECT mint FROM mintlake.volume_1d_raw WHERE generation = {share} GROUP BY mint)`,
	`INSERT INTO mintlake.swap_minutes_raw (minute, partition, touched, valued) SELECT DISTINCT toStartOfMinute(block_time), 0, 1, 1 FROM mintlake.swaps_raw WHERE version = {share}`,
	// 53 events on a thousand legs; of a hundred events one is of USDC, and 6 of a thousand create
	// a mint.
	`INSERT INTO mintlake.token_events_raw (slot, block_time, transaction_index, instruction_index, inner_instruction_index, batch_index, position, signature, program_id, kind, instruction, mint,
		decimals, amount, token_account, authority, version)
	WITH cityHash64(number, {share}, 'e') AS h, number % 167 = 0 AS creates, intDiv(number * 216000 * {days}, {events}) AS after
	SELECT 400000000 + after, toDateTime('2026-11-01 00:00:00', 'UTC') + intDiv(after * 2, 5), h % 1500, 1, -1, -1, bitShiftLeft(toUInt128(400000000 + after), 64) + h,
		lower(hex(sipHash128(h))) || lower(hex(sipHash128(h, 1))) || substring(lower(hex(sipHash128(h, 2))), 1, 24),
		if(h % 5 = 0, 'TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb', 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA'),
		multiIf(creates, 'initialize_mint', h % 2 = 0, 'mint_to', 'burn'), multiIf(creates, 'InitializeMint2', h % 2 = 0, 'MintTo', 'Burn'),
		multiIf(creates, lower(hex(sipHash128(number, {share}, 'c'))) || 'mintmintmint', h % 100 = 1, 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v',
			lower(hex(sipHash128(h % intDiv({events}, 100), {share}, 'q'))) || 'mintmintmint'),
		if(creates, 6, NULL), if(creates, NULL, h % 1000000), lower(hex(sipHash128(h, 3))) || 'accoaccoacco', lower(hex(sipHash128(h % 5000, 4))) || 'authauthauth', 1
	FROM numbers({events})`,
	`INSERT INTO mintlake.created_mints_raw (slot, block_time, mint, program_id, signature, instruction_index, inner_instruction_index, batch_index, version)
	SELECT slot, block_time, mint, program_id, signature, instruction_index, inner_instruction_index, batch_index, version FROM mintlake.token_events_raw
	WHERE kind = 'initialize_mint' AND (slot, signature) NOT IN (SELECT slot, signature FROM mintlake.created_mints_raw)`,
	`INSERT INTO mintlake.token_fact_history_raw (mint, slot, signature, place, kind, source, instruction, position, transaction_index, block_time, facts)
	SELECT mint, slot, signature, 1, kind, 'instruction', instruction, position, transaction_index, block_time, if(kind = 'initialize_mint', [(2, '', '6'), (5, '', mint)], [(4, '', toString(amount))])
	FROM mintlake.token_events_raw WHERE (slot, signature) NOT IN (SELECT slot, signature FROM mintlake.token_fact_history_raw)`,
}

// slotsSQL is ten days of slots: they are as many whatever share of the market is looked at.
const slotsSQL = `INSERT INTO mintlake.slots_raw (slot, blockhash, parent_slot, block_time, status, transactions, version)
	SELECT 400000000 + number, lower(hex(sipHash128(number))), 399999999 + number, toDateTime('2026-11-01 00:00:00', 'UTC') + intDiv(number * 2, 5), 'ingested', 600, 2 FROM numbers(2160000)`

// formerQueries are queries of docs/analytics.md as they are without the tables of migration 0010,
// by their question.
var formerQueries = map[string]string{
	"Which share of the volume came through aggregators": `SELECT if(aggregator = '', 'direct', aggregator) AS through, sum(usd_value) AS usd, round(toFloat64(usd) / sum(toFloat64(usd)) OVER (), 4) AS share, count() AS legs
		FROM mintlake.swaps WHERE block_time >= toStartOfDay((SELECT max(until) FROM mintlake.daily_volumes)) GROUP BY through ORDER BY usd DESC`,
	"Through how many pools does a trade go": `SELECT through, pools, count() AS trades FROM (SELECT max(if(aggregator = '', 'direct', aggregator)) AS through, uniqExact(pool) AS pools
		FROM mintlake.swaps WHERE block_time >= toStartOfDay((SELECT max(until) FROM mintlake.daily_volumes)) GROUP BY slot, signature, trader)
		GROUP BY through, pools ORDER BY trades DESC LIMIT 20`,
	"Of how many legs do two sources agree": `SELECT venue, round(avg(bitCount(agreed) >= 2), 4) AS two_agree, countIf(disagreed != 0) AS disagree, count() AS legs
		FROM mintlake.swaps WHERE block_time >= toStartOfDay((SELECT max(until) FROM mintlake.daily_volumes)) GROUP BY venue ORDER BY legs DESC`,
	"How many tokens were created per hour, and by which program": `SELECT toStartOfHour(block_time) AS hour, program_id, uniqExact(mint) AS mints
		FROM mintlake.token_events WHERE kind = 'initialize_mint' AND block_time > (SELECT max(block_time) FROM mintlake.slots) - INTERVAL 2 DAY
		GROUP BY hour, program_id ORDER BY hour DESC, mints DESC`,
}

// question is a query of the page, and how it is asked without what migration 0010 added: empty
// when that changes nothing.
type question struct {
	name, query, former string
}

// laterIndexes are those that migration 0010 added.
const laterIndexes = "signature_index,view_time_index"

var askedBlock = regexp.MustCompile("(?s)\n([^\n]+)\n\n```sql\n(.*?)```")

// questions are those of the page in its order, but for the two about comments.
func questions(b *testing.B) []question {
	b.Helper()
	page, err := os.ReadFile(filepath.Join(testkit.Root(b), "docs/analytics.md"))
	require.NoError(b, err)
	var all []question
	for _, block := range askedBlock.FindAllSubmatch(page, -1) {
		name, _, _ := strings.Cut(string(block[1]), "?")
		name, _, _ = strings.Cut(name, ":")
		if strings.Contains(string(block[2]), "system.tables") {
			continue
		}
		q := question{name: name, query: string(block[2]), former: formerQueries[name]}
		if strings.Contains(q.query, "mintlake.swaps") {
			q.former = q.query
		}
		all = append(all, q)
		if strings.Contains(q.query, "AS token, exp10") {
			// A mint that few trade, beside SOL.
			q.name, q.query = name+" (a rare token)", strings.ReplaceAll(q.query, "'"+sol+"' AS token", "{rare} AS token")
			q.former = q.query
			all = append(all, q)
		}
	}
	require.GreaterOrEqual(b, len(all), 20)
	return all
}

// ask runs a query three times and returns what the fastest took.
func ask(b *testing.B, query, ignored string) cost {
	b.Helper()
	best := cost{seconds: math.Inf(1)}
	settings := url.Values{"wait_end_of_query": {"1"}, "use_query_condition_cache": {"0"}}
	if ignored != "" {
		settings.Set("ignore_data_skipping_indices", ignored)
	}
	for range 3 {
		begin := time.Now()
		header := post(b, settings, query)
		var summary struct {
			Rows  string `json:"read_rows"`
			Bytes string `json:"read_bytes"`
		}
		require.NoError(b, json.Unmarshal([]byte(header.Get("X-ClickHouse-Summary")), &summary))
		if took := time.Since(begin).Seconds(); took < best.seconds {
			best = cost{number(b, summary.Rows), number(b, summary.Bytes), took}
		}
	}
	return best
}

// post runs a statement, however long it takes.
func post(b *testing.B, settings url.Values, statement string) http.Header {
	b.Helper()
	request, err := http.NewRequestWithContext(b.Context(), http.MethodPost, "http://"+chtest.Engine(b).Addr()+"/?"+settings.Encode(), strings.NewReader(statement))
	require.NoError(b, err)
	answer, err := http.DefaultClient.Do(request)
	require.NoError(b, err)
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	require.NoError(b, err)
	require.Equal(b, http.StatusOK, answer.StatusCode, "%s\n%s", statement, body)
	return answer.Header
}

func number(b *testing.B, text string) float64 {
	b.Helper()
	n, err := strconv.ParseFloat(text, 64)
	require.NoError(b, err)
	return n
}

// fill adds shares of the market until there are so many legs, makes the figures of the minutes by
// the valuation's own statements, and merges.
func (s *tables) fill(b *testing.B, from, to int) {
	b.Helper()
	const share = float64(benchStep) / billion
	for n := from; n < to; n += benchStep {
		replacer := strings.NewReplacer("{share}", strconv.Itoa(n/benchStep+1), "{n}", strconv.Itoa(benchStep), "{days}", strconv.Itoa(benchDays), "{sol}", sol,
			"{per_minute}", strconv.Itoa(int(2000*share)), "{per_hour}", strconv.Itoa(int(15_000*share)), "{per_day}", strconv.Itoa(int(100_000*share)),
			"{events}", strconv.Itoa(int(53_300_000*share)))
		for _, statement := range marketSQL {
			s.exec(b, replacer.Replace(statement))
		}
	}
	for _, table := range []string{"venue_volume_1m", "trade_pools_1m"} {
		s.exec(b, "TRUNCATE TABLE mintlake."+table+"_raw")
	}
	begin := time.Now()
	for day := range benchDays {
		first := time.Date(2026, 11, 1+day, 0, 0, 0, 0, time.UTC)
		legs := fmt.Sprintf("block_time >= toDateTime(%d, 'UTC') AND block_time < toDateTime(%d, 'UTC')", first.Unix(), first.Add(24*time.Hour).Unix())
		for _, name := range []string{"10_venue_volume_1m", "11_trade_pools_1m"} {
			text, err := os.ReadFile("sql/" + name + ".sql")
			require.NoError(b, err)
			s.exec(b, strings.NewReplacer("{database}", "mintlake", "{legs}", legs, "{generation}", "1").Replace(string(text)))
		}
	}
	fmt.Printf("venue_volume_1m and trade_pools_1m of %d million legs: %.1f s\n", to/1e6, time.Since(begin).Seconds())
	begin = time.Now()
	for _, table := range s.rows(b, "SELECT name FROM system.tables WHERE database = 'mintlake' AND engine LIKE '%MergeTree'") {
		s.exec(b, "OPTIMIZE TABLE mintlake."+table+" FINAL")
	}
	fmt.Printf("merged in %.1f s\n", time.Since(begin).Seconds())
	s.exec(b, "SYSTEM RELOAD DICTIONARY mintlake.token_names")
}

func (s *tables) exec(b *testing.B, statement string) {
	b.Helper()
	post(b, url.Values{
		"max_execution_time": {"0"}, "max_insert_threads": {"1"}, "max_block_size": {"32768"}, "min_insert_block_size_rows": {"250000"},
		"min_insert_block_size_bytes": {"0"}, "max_bytes_before_external_group_by": {"400000000"},
	}, statement)
}

// BenchmarkAnalytics asks the questions of docs/analytics.md at several sizes, and says what they
// would read of a billion legs: a straight line through the sizes (least squares) of rows and bytes
// read. Seconds are those of the largest size, and those of the bytes that come on top: at the
// query's own speed if it takes a tenth of a second and its bytes grow, else at the slowest speed
// of all such queries.
func BenchmarkAnalytics(b *testing.B) {
	for b.Loop() {
		s := migrated(b)
		s.exec(b, slotsSQL)
		var sizes []float64
		asked := questions(b)
		now, former := make([][]cost, len(asked)), make([][]cost, len(asked))
		from := 0
		for text := range strings.SplitSeq(*analyticsLegs, ",") {
			to := int(number(b, text) * 1e6)
			s.fill(b, from, to)
			from = to
			sizes = append(sizes, float64(to))
			rare := "'" + s.rows(b, "SELECT mint FROM mintlake.daily_volumes ORDER BY trades, mint LIMIT 1")[0] + "'"
			for i, q := range asked {
				now[i] = append(now[i], ask(b, strings.ReplaceAll(q.query, "{rare}", rare), ""))
				if q.former != "" {
					former[i] = append(former[i], ask(b, strings.ReplaceAll(q.former, "{rare}", rare), laterIndexes))
				}
			}
			s.printSizes(b)
			fmt.Printf("\n| question | | %s | a billion legs |\n|---|---|%s---|\n", headings(sizes), strings.Repeat("---|", len(sizes)))
			slowest := math.Inf(1)
			for _, costs := range slices.Concat(now, former) {
				if costs != nil && measurable(costs) {
					slowest = min(slowest, costs[len(costs)-1].speed())
				}
			}
			for i, q := range asked {
				if former[i] != nil {
					printCosts(q.name, "without", sizes, former[i], slowest)
					printCosts("", "with", sizes, now[i], slowest)
				} else {
					printCosts(q.name, "", sizes, now[i], slowest)
				}
			}
		}
		s.printInsertCost(b)
		b.ReportMetric(0, "ns/op")
	}
}

// printInsertCost stores a share of the market with and without the indexes of migration 0010, in
// turns, and prints the medians.
func (s *tables) printInsertCost(b *testing.B) {
	b.Helper()
	for _, table := range []string{"cost_with", "cost_without"} {
		s.exec(b, "CREATE TABLE mintlake."+table+" AS mintlake.swaps_raw")
	}
	for name := range strings.SplitSeq(laterIndexes, ",") {
		s.exec(b, "ALTER TABLE mintlake.cost_without DROP INDEX "+name)
	}
	took := map[string][]float64{}
	for range 3 {
		for _, table := range []string{"cost_with", "cost_without"} {
			s.exec(b, "TRUNCATE TABLE mintlake."+table)
			begin := time.Now()
			s.exec(b, "INSERT INTO mintlake."+table+" SELECT * FROM mintlake.swaps_raw WHERE version = 1")
			took[table] = append(took[table], time.Since(begin).Seconds())
		}
	}
	for table, all := range took {
		slices.Sort(all)
		fmt.Printf("%s: %d legs stored in %.1f s\n", table, benchStep, all[1])
	}
}

// printSizes prints what the tables take on disk, and the index of signatures.
func (s *tables) printSizes(b *testing.B) {
	b.Helper()
	fmt.Println("\ntable, rows, bytes on disk, bytes a leg")
	for _, row := range s.rows(b, "SELECT table, sum(rows), sum(bytes_on_disk), round(sum(bytes_on_disk) / (SELECT count() FROM mintlake.swaps_raw), 3) FROM system.parts "+
		"WHERE active AND database = 'mintlake' GROUP BY table") {
		fmt.Println(row)
	}
	fmt.Println("indexes of swaps_raw: name, bytes on disk")
	for _, row := range s.rows(b, "SELECT name, data_compressed_bytes FROM system.data_skipping_indices WHERE database = 'mintlake' AND table = 'swaps_raw'") {
		fmt.Println(row)
	}
}

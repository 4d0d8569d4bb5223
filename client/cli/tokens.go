package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mintlake/mintlake/client"
	"github.com/mintlake/mintlake/client/rest"
	"github.com/mintlake/mintlake/internal/terminal"
)

func tokensCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "tokens", Short: "Ask a running node for tokens: search, get, batch, watch, history, candles, trades, pools, liquidity, holders"}
	cmd.AddCommand(searchCommand(), getCommand(), batchCommand(), watchCommand(), historyCommand(), candlesCommand(), tradesCommand(), tokenPoolsCommand(), liquidityCommand(), holdersCommand())
	return cmd
}

// filters are the flags of search and watch that narrow down the tokens.
type filters struct {
	program, tag string
	minVolume    float64
}

func (f *filters) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.program, "program", "", "only tokens of this program: token or token-2022")
	cmd.Flags().StringVar(&f.tag, "tag", "", "only tokens with this tag")
	cmd.Flags().Float64Var(&f.minVolume, "min-volume", 0, "only tokens with at least this daily volume, in US dollars")
	_ = cmd.RegisterFlagCompletionFunc("program", cobra.FixedCompletions([]string{"token", "token-2022"}, cobra.ShellCompDirectiveNoFileComp))
}

// given returns a pointer to value, or nil for the zero value: a flag that was not given becomes no
// parameter.
func given[T comparable](value T) *T {
	var zero T
	if value == zero {
		return nil
	}
	return &value
}

func searchCommand() *cobra.Command {
	var f filters
	var limit int32
	var sort string
	var least, most []string
	cmd := &cobra.Command{
		Use:   "search [TEXT]",
		Short: "Search tokens by symbol, name or mint; without TEXT those with the most volume",
		Example: `  mintlake tokens search usdc
  mintlake tokens search --sort newest --program token-2022 --limit 5
  mintlake tokens search --sort price_drop_1h --min traders_24h:25,volume_1h_usd:1000
  mintlake tokens search bonk --json | jq '.items[].mint'`,
	}
	asking(cmd, func(ctx context.Context, a *ask, args []string) error {
		text, yes := strings.Join(args, " "), true
		_, _, byWindow := windowColumn(sort)
		answer, err := a.REST.SearchTokensWithResponse(ctx, &rest.SearchTokensParams{
			Q: given(text), Limit: &limit, Sort: given(rest.SearchTokensParamsSort(sort)), Evidence: &yes, Market: &yes,
			Program: given(rest.SearchTokensParamsProgram(f.program)), Tag: given(f.tag), MinVolume: given(f.minVolume),
			Min: list(least), Max: list(most), Windows: given(byWindow),
		})
		if err != nil {
			return err
		}
		return answered(a, answer.Body, func(found *rest.SearchResponse) error { return a.showFound(found, sort) })
	})
	cmd.Flags().Int32Var(&limit, "limit", 20, "tokens to list, 1 to 200")
	cmd.Flags().StringVar(&sort, "sort", "", "order: "+strings.Join(sorts, ", "))
	cmd.Flags().StringSliceVar(&least, "min", nil, "only tokens with at least so much of figures that --sort takes: FIGURE:NUMBER, several with commas between")
	cmd.Flags().StringSliceVar(&most, "max", nil, "the same with at most so much")
	f.add(cmd)
	_ = cmd.RegisterFlagCompletionFunc("sort", cobra.FixedCompletions(sorts, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// showFound lists tokens. If they are sorted by a figure of a window, the table has a column with
// that figure.
func (a *ask) showFound(found *rest.SearchResponse, sort string) error {
	if len(found.Items) == 0 {
		fmt.Fprintln(a.notes, "no token matches")
		return nil
	}
	head, figure, byWindow := windowColumn(sort)
	table := terminal.Table{Head: []string{"SYMBOL", "NAME", "PRICE", "VOLUME 24 H", "AGE", "MINT", "NOTE"}, Right: map[int]bool{2: true, 3: true, 4: true}}
	if byWindow {
		table.Head, table.Right[5] = slices.Insert(table.Head, 3, head), true
	}
	for i := range found.Items {
		row := &found.Items[i]
		note, style := a.note(row)
		cells := []terminal.Cell{
			{Text: row.Symbol, Style: terminal.Bold}, {Text: row.Name}, {Text: dollars(price(row))}, {Text: dollars(row.DailyVolumeUSD)},
			{Text: a.ago(row.FirstSeenAt)}, {Text: row.Mint}, {Text: note, Style: style},
		}
		if byWindow {
			cells = slices.Insert(cells, 3, terminal.Cell{Text: figure(row), Style: terminal.Bold})
		}
		table.Row(cells...)
	}
	if err := table.Write(a.out, a.paint); err != nil {
		return err
	}
	if more := found.Total - len(found.Items); more > 0 {
		fmt.Fprintf(a.notes, "%s more: --limit takes up to 200\n", terminal.Count(more))
	}
	return nil
}

// sorts are the orders of a search. The order mint, by which a client reads all pages, is missing.
var sorts = []string{
	"relevance", "volume", "newest", "oldest", "trending", "price_usd", "market_cap_usd", "held_usd", "liquidity_usd", "organic_volume_usd",
	"pools", "first_pool_at", "holders", "price_change_5m", "price_change_1h", "price_change_6h", "price_change_24h", "price_drop_5m", "price_drop_1h", "price_drop_6h", "price_drop_24h",
	"volume_5m_usd", "volume_1h_usd", "volume_6h_usd", "volume_24h_usd", "bought_5m_usd", "bought_1h_usd", "bought_6h_usd", "bought_24h_usd", "sold_5m_usd", "sold_1h_usd",
	"sold_6h_usd", "sold_24h_usd", "high_5m_usd", "high_1h_usd", "high_6h_usd", "high_24h_usd", "low_5m_usd", "low_1h_usd", "low_6h_usd", "low_24h_usd",
	"trades_5m", "trades_1h", "trades_6h", "trades_24h", "buys_5m", "buys_1h", "buys_6h", "buys_24h", "sells_5m", "sells_1h",
	"sells_6h", "sells_24h", "traders_5m", "traders_1h", "traders_6h", "traders_24h", "buyers_5m", "buyers_1h", "buyers_6h", "buyers_24h",
	"sellers_5m", "sellers_1h", "sellers_6h", "sellers_24h",
}

// note returns what a person should know before they trust a row. It is red if another token that
// looks the same trades more.
func (a *ask) note(row *rest.Token) (string, terminal.Style) {
	e := row.Evidence
	if e == nil {
		return "", terminal.Plain
	}
	if e.Sharing > 1 && e.Canonical != nil && *e.Canonical != row.Mint {
		return fmt.Sprintf("not the %s that trades most", row.Symbol), terminal.Red
	}
	var risks []string
	for _, signal := range e.Signals {
		risks = append(risks, strings.ReplaceAll(string(signal), "_", " "))
	}
	return strings.Join(risks, ", "), terminal.Yellow
}

// price returns a token's price in US dollars; nil if it has none.
func price(row *rest.Token) *float64 {
	if row.Market == nil {
		return nil
	}
	return row.Market.PriceUSD
}

func dollars(amount *float64) string {
	if amount == nil {
		return "-"
	}
	return terminal.USD(*amount)
}

// ago returns how long ago a time in epoch milliseconds was.
func (a *ask) ago(ms *int) string {
	if ms == nil {
		return "-"
	}
	return terminal.Ago(time.UnixMilli(int64(*ms)), a.now)
}

func getCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "get MINT|SYMBOL",
		Short: "Show what is known of one token",
		Example: `  mintlake tokens get USDC
  mintlake tokens get EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v --json`,
		Args: Arguments, ValidArgsFunction: completeMints,
	}
	return asking(cmd, func(ctx context.Context, a *ask, args []string) error {
		mint, err := a.mint(ctx, args[0])
		if err != nil {
			return err
		}
		yes := true
		answer, err := a.REST.GetTokenWithResponse(ctx, mint, &rest.GetTokenParams{Evidence: &yes, Market: &yes, Windows: &yes, Lists: &yes})
		if err != nil {
			return err
		}
		return answered(a, answer.Body, a.showToken)
	})
}

func (a *ask) showToken(token *rest.Token) error {
	var table terminal.Table
	add := func(name, value string, style terminal.Style) {
		if value != "" {
			table.Row(terminal.Cell{Text: name, Style: terminal.Dim}, terminal.Cell{Text: value, Style: style})
		}
	}
	text := func(value *string) string {
		if value == nil {
			return ""
		}
		return *value
	}
	add("symbol", token.Symbol, terminal.Bold)
	add("name", token.Name, terminal.Plain)
	add("mint", token.Mint, terminal.Plain)
	program := "Token"
	if token.IsToken22 {
		program = "Token-2022"
	}
	add("program", program, terminal.Plain)
	if token.Supply != nil {
		add("supply", terminal.Amount(*token.Supply, token.Decimals), terminal.Plain)
	}
	add("decimals", fmt.Sprint(token.Decimals), terminal.Plain)
	add("shown amounts", multiplied(token, a.now), terminal.Plain)
	add("price", dollars(price(token)), terminal.Plain)
	add("volume 24 h", dollars(token.DailyVolumeUSD), terminal.Plain)
	if m := token.Market; m != nil {
		add("market cap", capitalised(m), terminal.Plain)
		add("liquidity", dollars(m.LiquidityUSD), terminal.Plain)
	}
	add("first seen", a.ago(token.FirstSeenAt), terminal.Plain)
	if token.Launchpad != nil {
		add("launchpad", string(*token.Launchpad), terminal.Plain)
	}
	add("creator", text(token.Creator), terminal.Plain)
	if token.GraduatedAt != nil {
		add("graduated", a.ago(token.GraduatedAt), terminal.Plain)
	}
	add("mint authority", text(token.MintAuthority), terminal.Yellow)
	add("freeze authority", text(token.FreezeAuthority), terminal.Yellow)
	add("update authority", text(token.UpdateAuthority), terminal.Plain)
	add("logo", string(token.LogoStatus), terminal.Plain)
	add("website", text(token.ExternalURL), terminal.Plain)
	if token.Tags != nil {
		add("tags", strings.Join(*token.Tags, ", "), terminal.Plain)
	}
	if token.Lists != nil {
		for i := range *token.Lists {
			add("on the list", listed(&(*token.Lists)[i]), terminal.Plain)
		}
	}
	note, style := a.note(token)
	add("note", note, style)
	if e := token.Evidence; e != nil && e.Canonical != nil && *e.Canonical != token.Mint {
		add("trades most", *e.Canonical, terminal.Plain)
	}
	if err := table.Write(a.out, a.paint); err != nil || token.Windows == nil {
		return err
	}
	fmt.Fprintln(a.out)
	return windowsTable(token.Windows).Write(a.out, a.paint)
}

// capitalised returns the market cap. If the API withholds it, capitalised returns the reason, and
// the price times the supply.
func capitalised(m *rest.Market) string {
	if m.MarketCapUSD != nil || m.MarketCapWithheld == nil {
		return dollars(m.MarketCapUSD)
	}
	text := "withheld: " + strings.ReplaceAll(string(*m.MarketCapWithheld), "_", " ")
	if m.FdvUSD != nil {
		text += "; price times supply is " + dollars(m.FdvUSD)
	}
	return text
}

// listed names the list that holds a token, its version and who signed it.
func listed(l *rest.Listing) string {
	text := fmt.Sprintf("%s of %s", l.List, time.UnixMilli(int64(l.AsOf)).UTC().Format(time.DateOnly))
	if l.Signer != nil {
		return text + ", signed by " + *l.Signer
	}
	return text
}

func batchCommand() *cobra.Command {
	var wait time.Duration
	cmd := &cobra.Command{
		Use:   "batch [MINT…]",
		Short: "Look up many mints, given here or as lines on standard input",
		Example: `  mintlake tokens batch EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v So11111111111111111111111111111111111111112
  mintlake tokens batch --json <mints.txt`,
		ValidArgsFunction: completeMints,
	}
	asking(cmd, func(ctx context.Context, a *ask, args []string) error {
		if len(args) == 0 {
			if terminal.IsTerminal(os.Stdout) && readsKeyboard(cmd) {
				fmt.Fprintln(a.notes, "reading mints from the keyboard, one a line; Ctrl-D ends")
			}
			lines := bufio.NewScanner(cmd.InOrStdin())
			for lines.Scan() {
				args = append(args, strings.Fields(lines.Text())...)
			}
			if err := lines.Err(); err != nil {
				return fmt.Errorf("read mints: %w", err)
			}
		}
		if len(args) == 0 {
			return errors.New("no mint was given")
		}
		table := terminal.Table{Head: []string{"SYMBOL", "NAME", "DECIMALS", "MINT", "STATE"}, Right: map[int]bool{2: true}}
		var failed error
		for part := range slices.Chunk(args, client.MaxBatch) {
			if failed = a.batch(ctx, part, wait, &table); failed != nil {
				break // the table shows what was found before
			}
		}
		return errors.Join(table.Write(a.out, a.paint), failed)
	})
	cmd.Flags().DurationVar(&wait, "wait", 0, "how long the node may read mints that it does not know, up to 5s")
	return cmd
}

// readsKeyboard reports whether a command's standard input is a terminal.
func readsKeyboard(cmd *cobra.Command) bool {
	file, ok := cmd.InOrStdin().(*os.File)
	return ok && terminal.IsTerminal(file)
}

// batch asks for some mints and adds their rows to the table. With --json it prints the answer
// instead.
func (a *ask) batch(ctx context.Context, mints []string, wait time.Duration, table *terminal.Table) error {
	states, ms := true, int(wait.Milliseconds())
	answer, err := a.REST.ResolveTokensWithResponse(ctx, nil, rest.BatchRequest{Mints: mints, States: &states, WaitMs: &ms})
	if err != nil {
		return err
	}
	return answered(a, answer.Body, func(found *rest.BatchResponse) error {
		stateRows(found, table)
		return nil
	})
}

// stateRows adds a row for each mint that was asked for.
func stateRows(found *rest.BatchResponse, table *terminal.Table) {
	rows := map[string]*rest.Token{}
	for i := range found.Items {
		rows[found.Items[i].Mint] = &found.Items[i]
	}
	if found.States == nil {
		return
	}
	for _, state := range *found.States {
		text := strings.ReplaceAll(string(state.State), "_", " ")
		if state.Reason != nil {
			text += ": " + strings.ReplaceAll(string(*state.Reason), "_", " ")
		}
		row := rows[state.Mint]
		if row == nil {
			table.Row(terminal.Cell{Text: "-"}, terminal.Cell{Text: "-"}, terminal.Cell{Text: "-"}, terminal.Cell{Text: state.Mint}, terminal.Cell{Text: text, Style: terminal.Yellow})
			continue
		}
		table.Row(terminal.Cell{Text: row.Symbol, Style: terminal.Bold}, terminal.Cell{Text: row.Name}, terminal.Cell{Text: fmt.Sprint(row.Decimals)},
			terminal.Cell{Text: row.Mint}, terminal.Cell{Text: text, Style: terminal.Green})
	}
}

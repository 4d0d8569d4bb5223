// Package cli has the commands that ask a running node: tokens, owners, pools, status, quote
// and mcp.
//
// In: the URL of a token API. Out: tables for people, or with --json the API's answer as it came.
// Guarantees: text that creators of tokens wrote cannot control the terminal; a command that fails
// says what to do.
package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mintlake/mintlake/client"
	"github.com/mintlake/mintlake/client/rest"
	"github.com/mintlake/mintlake/internal/terminal"
)

// Commands returns the commands for the root command of a binary. version is the binary's.
func Commands(version string) []*cobra.Command {
	return []*cobra.Command{tokensCommand(), ownersCommand(), poolsCommand(), statusCommand(), quoteCommand(), mcpCommand(version)}
}

// ask is one run of a command: the client of the node, and where the output goes.
type ask struct {
	*client.Client
	out   io.Writer
	notes io.Writer // standard error: remarks that are no part of the answer
	json  bool
	paint terminal.Paint
	now   time.Time
}

const (
	defaultURL     = "http://127.0.0.1:8080"
	defaultSwapURL = "http://127.0.0.1:8081"
)

// fromEnvironment returns the value of a variable, or fallback if it is empty or not set.
func fromEnvironment(name, fallback string) string {
	if value := os.Getenv(name); value != "" {
		return value
	}
	return fallback
}

// asking gives a command the flags that all commands of this package have, and makes it call run
// with a client of the node.
func asking(cmd *cobra.Command, run func(ctx context.Context, a *ask, args []string) error) *cobra.Command {
	address := cmd.Flags().String("url", fromEnvironment("MINTLAKE_URL", defaultURL), "token API of a node ($MINTLAKE_URL)")
	asJSON := new(bool)
	if cmd.Name() != "mcp" {
		cmd.Flags().BoolVar(asJSON, "json", false, "print the API's answer as it came")
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		cfg := client.Config{URL: *address}
		if flag := cmd.Flag("swap-url"); flag != nil {
			cfg.SwapURL, cfg.SwapKey = flag.Value.String(), os.Getenv("MINTLAKE_SWAP_KEY")
		}
		c, err := client.New(cfg)
		if err != nil {
			return err
		}
		a := &ask{Client: c, out: cmd.OutOrStdout(), notes: cmd.ErrOrStderr(), json: *asJSON, paint: terminal.NewPaint(cmd.OutOrStdout()), now: time.Now()}
		return explain(run(cmd.Context(), a, args))
	}
	return cmd
}

// explain adds to an error what to do about it. It returns nil for context.Canceled: a person has
// stopped the command.
func explain(err error) error {
	var away *url.Error
	var refused *client.Error
	switch {
	case err == nil || errors.Is(err, context.Canceled):
		return nil
	case errors.As(err, &away):
		u, _ := url.Parse(away.URL)
		if u == nil {
			return err
		}
		return fmt.Errorf("nothing answers at %s://%s (%w): does mintlake up run there? --url names another node", u.Scheme, u.Host, away.Err)
	case errors.As(err, &refused) && refused.RetryAfter > 0:
		return fmt.Errorf("%s (try again in %s)", terminal.Clean(refused.Message), refused.RetryAfter)
	case errors.As(err, &refused):
		return errors.New(terminal.Clean(refused.Message))
	}
	return err
}

// raw prints an answer as it came, with one newline at its end.
func (a *ask) raw(body []byte) error {
	_, err := fmt.Fprintf(a.out, "%s\n", strings.TrimRight(string(body), "\n"))
	return err
}

// decode parses an answer of the API.
func decode[T any](body []byte) (*T, error) {
	answer := new(T)
	if err := json.Unmarshal(body, answer); err != nil {
		return nil, fmt.Errorf("the answer cannot be read (%w): is this a token API of Mintlake?", err)
	}
	return answer, nil
}

// answered prints an answer of the API as it came if JSON is wanted. Otherwise it calls show with
// the answer.
func answered[T any](a *ask, body []byte, show func(*T) error) error {
	if a.json {
		return a.raw(body)
	}
	answer, err := decode[T](body)
	if err != nil {
		return err
	}
	return show(answer)
}

// address matches a mint address: 32 bytes in base58.
var address = regexp.MustCompile(`^[1-9A-HJ-NP-Za-km-z]{32,44}$`)

// list writes a table. If the table has no row, it writes none to the notes instead.
func (a *ask) list(table *terminal.Table, none string) error {
	if table.Empty() {
		fmt.Fprintln(a.notes, none)
		return nil
	}
	return table.Write(a.out, a.paint)
}

// mint returns the mint that a person means by text, which is an address or a symbol. If several
// tokens have the symbol, mint takes the token that trades most, and notes how many others look
// like it.
func (a *ask) mint(ctx context.Context, text string) (string, error) {
	if address.MatchString(text) {
		return text, nil
	}
	limit, yes := int32(3), true
	found, err := a.Search(ctx, &rest.SearchTokensParams{Q: &text, Limit: &limit, Explain: &yes, Evidence: &yes})
	if err != nil {
		return "", err
	}
	if len(found.Items) == 0 || found.Items[0].Match == nil || found.Items[0].Match.Tier != rest.ExactSymbol {
		var near []string
		for i := range found.Items {
			near = append(near, terminal.Clean(found.Items[i].Symbol)+" "+found.Items[i].Mint)
		}
		if len(near) == 0 {
			return "", fmt.Errorf("no token has the symbol or mint %.60q", text)
		}
		return "", fmt.Errorf("no token has the symbol or mint %.60q; near are: %s", text, strings.Join(near, ", "))
	}
	best := found.Items[0]
	if best.Evidence != nil && best.Evidence.Sharing > 1 {
		fmt.Fprintf(a.notes, "%s is %s; tokens that look like it: %d (mintlake tokens search %s)\n",
			terminal.Clean(best.Symbol), best.Mint, best.Evidence.Sharing-1, terminal.Clean(text))
	}
	return best.Mint, nil
}

// completeMints offers the mints that a search for the typed text finds. The text may be a mint, a
// symbol or a part of a name.
func completeMints(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	target, err := cmd.Flags().GetString("url")
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	c, err := client.New(client.Config{URL: target, MaxWait: -1})
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	few := int32(20)
	found, err := c.Search(ctx, &rest.SearchTokensParams{Q: &typed, Limit: &few})
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var offers []string
	for i := range found.Items {
		row := &found.Items[i]
		offers = append(offers, row.Mint+"\t"+terminal.Clean(row.Symbol+" "+row.Name))
	}
	// KeepOrder: the best match of the search comes first, and not the first in the alphabet.
	return offers, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}

// Package cli has the commands that ask a running node: tokens, status, quote and mcp.
//
// In: the URL of a token API. Out: tables for people, or with --json the API's answer as it came.
// Guarantees: text of token creators cannot steer the terminal; a command that fails says what to
// do.
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

// Commands are the commands for the root of a binary of this version.
func Commands(version string) []*cobra.Command {
	return []*cobra.Command{tokensCommand(), statusCommand(), quoteCommand(), mcpCommand(version)}
}

// ask is one call of a command.
type ask struct {
	*client.Client
	out   io.Writer
	notes io.Writer // what is no answer
	json  bool
	paint terminal.Paint
	now   time.Time
}

const (
	defaultURL     = "http://127.0.0.1:8080"
	defaultSwapURL = "http://127.0.0.1:8081"
)

// fromEnvironment is a variable, or what holds without it.
func fromEnvironment(name, otherwise string) string {
	if value := os.Getenv(name); value != "" {
		return value
	}
	return otherwise
}

// asking gives a command the flags that all have, and a client.
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

// explain says of an error what to do about it.
func explain(err error) error {
	var away *url.Error
	var refused *client.Error
	switch {
	case err == nil || errors.Is(err, context.Canceled):
		return nil // a person stopped it
	case errors.As(err, &away):
		u, _ := url.Parse(away.URL)
		if u == nil {
			return err
		}
		return fmt.Errorf("nothing answers at %s://%s (%w): does mintlake up run there? --url names another node", u.Scheme, u.Host, away.Err)
	case errors.As(err, &refused) && refused.RetryAfter > 0:
		return fmt.Errorf("%s (try again in %s)", refused.Message, refused.RetryAfter)
	case errors.As(err, &refused):
		return errors.New(terminal.Clean(refused.Message))
	}
	return err
}

// raw prints an answer as it came, with a line's end.
func (a *ask) raw(body []byte) error {
	_, err := fmt.Fprintf(a.out, "%s\n", strings.TrimRight(string(body), "\n"))
	return err
}

// decode reads an answer that the command has asked for with all its bytes.
func decode[T any](body []byte) (*T, error) {
	answer := new(T)
	if err := json.Unmarshal(body, answer); err != nil {
		return nil, fmt.Errorf("the answer cannot be read (%w): is this a token API of Mintlake?", err)
	}
	return answer, nil
}

var address = regexp.MustCompile(`^[1-9A-HJ-NP-Za-km-z]{32,44}$`)

// mint is the mint that a person means: an address, or a symbol. Of tokens with one symbol the one
// that trades most is meant, and the others are told of.
func (a *ask) mint(ctx context.Context, text string) (string, error) {
	if address.MatchString(text) {
		return text, nil
	}
	one, yes := int32(3), true
	found, err := a.Search(ctx, &rest.SearchTokensParams{Q: &text, Limit: &one, Explain: &yes, Evidence: &yes})
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

// completeMints offers mints by what is typed of a mint, a symbol or a name.
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
	// kept as it is: what is typed need not begin the mint
	return offers, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}

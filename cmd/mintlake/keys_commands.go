package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mintlake/mintlake/client/cli"
	"github.com/mintlake/mintlake/gateway/admin"
	"github.com/mintlake/mintlake/operate/adminapi"
)

// adminCommand adds the flags that say how to reach the admin API. run gets a client of it.
func adminCommand(cmd *cobra.Command, run func(cmd *cobra.Command, args []string, client *adminapi.Client) error) *cobra.Command {
	cmd.Flags().String("admin-addr", defaults().Admin.Addr, "admin API of a node ($MINTLAKE_ADMIN_ADDR)")
	cmd.Flags().String("admin-token-file", "", "file that holds its token ($MINTLAKE_ADMIN_TOKEN_FILE; or the token in $MINTLAKE_ADMIN_TOKEN)")
	cmd.Flags().Bool("json", false, "print the API's answer as JSON")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		cfg, err := loadConfig(cmd)
		if err != nil {
			return err
		}
		if cfg.Admin.Token == "" {
			return errors.New("the admin API's token is required: set MINTLAKE_ADMIN_TOKEN, here and where the node runs, or name a file with --admin-token-file")
		}
		return run(cmd, args, &adminapi.Client{Addr: cfg.Admin.Addr, Token: cfg.Admin.Token, Actor: adminapi.Actor()})
	}
	return cmd
}

// ruleFlags adds the flags of rules.
func ruleFlags(flags *pflag.FlagSet) {
	flags.String("expires", "", "when the key ends: a time from now like 90d or 12h, a time like 2027-01-31T00:00:00Z, or never")
	flags.StringSlice("origin", nil, "web pages that may use the key: https://app.example, *.app.example, https://*.app.example; any for all")
	flags.StringSlice("ip", nil, "IP addresses and CIDR prefixes that may use the key; any for all")
	flags.StringSlice("method", nil, "methods that may be called: getSlot, get*, Subscribe, quote; any for all")
	flags.Int("requests-per-second", 0, "calls a second on each node; 0 = no limit")
	flags.Int("streams", 0, "streams and WebSockets open at the same time on each node; 0 = no limit")
	flags.Int("stream-addresses", 0, "addresses in the filters of one stream; 0 = no limit")
}

// rulesIn returns the request body for the rules whose flags were given.
func rulesIn(flags *pflag.FlagSet) (map[string]any, error) {
	body := map[string]any{}
	for flag, member := range map[string]string{"origin": "origins", "ip": "addresses", "method": "methods"} {
		if !flags.Changed(flag) {
			continue
		}
		list, err := flags.GetStringSlice(flag)
		if err != nil {
			return nil, err
		}
		if len(list) == 1 && list[0] == "any" {
			list = []string{}
		}
		body[member] = list
	}
	for flag, member := range map[string]string{
		"requests-per-second": "requests_per_second", "streams": "streams", "stream-addresses": "stream_addresses",
	} {
		if flags.Changed(flag) {
			n, err := flags.GetInt(flag)
			if err != nil {
				return nil, err
			}
			body[member] = n
		}
	}
	if flags.Changed("expires") {
		text, err := flags.GetString("expires")
		if err != nil {
			return nil, err
		}
		if body["expires_at"], err = adminapi.Expiry(text, time.Now()); err != nil {
			return nil, err
		}
	}
	return body, nil
}

// ask makes a request and prints the response: as JSON with --json, or else by show.
func ask[T any](cmd *cobra.Command, c *adminapi.Client, method, path string, body any, show func(io.Writer, *T)) error {
	var raw json.RawMessage
	if err := c.Call(cmd.Context(), method, path, body, &raw); err != nil {
		return err
	}
	if asJSON, err := cmd.Flags().GetBool("json"); err != nil || asJSON {
		_, err := fmt.Fprintln(cmd.OutOrStdout(), strings.TrimSpace(string(raw)))
		return err
	}
	answer := new(T)
	if err := json.Unmarshal(raw, answer); err != nil {
		return fmt.Errorf("admin API at %s: its answer cannot be read: %w", c.Addr, err)
	}
	table := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
	show(table, answer)
	return table.Flush()
}

func createKeyCommand() *cobra.Command {
	var environment string
	cmd := adminCommand(&cobra.Command{
		Use:   "create PRODUCT NAME",
		Short: "Issue a key, with restrictions if wanted; it is shown once",
		Example: `  mintlake keys create rpc alice
  mintlake keys create rpc web --env live --expires 90d --origin https://app.example --requests-per-second 20 --streams 5`,
		Args: productAndName,
	}, func(cmd *cobra.Command, args []string, c *adminapi.Client) error {
		body, err := rulesIn(cmd.Flags())
		if err != nil {
			return err
		}
		body["product"], body["name"], body["environment"] = args[0], args[1], environment
		return ask(cmd, c, http.MethodPost, "/v1/keys", body, adminapi.ShowSecret)
	})
	cmd.Flags().StringVar(&environment, "env", "", "label of the environment, part of the key: live, test")
	ruleFlags(cmd.Flags())
	return cmd
}

func restrictKeyCommand() *cobra.Command {
	cmd := adminCommand(&cobra.Command{
		Use:   "restrict PRODUCT NAME",
		Short: "Change what a key may do; what is not named stays",
		Example: `  mintlake keys restrict rpc alice --ip 203.0.113.0/24 --method 'get*,sendTransaction'
  mintlake keys restrict rpc alice --ip any --expires never`,
		Args: productAndName,
	}, func(cmd *cobra.Command, args []string, c *adminapi.Client) error {
		path, err := adminapi.KeyPath(args)
		if err != nil {
			return err
		}
		body, err := rulesIn(cmd.Flags())
		if err != nil {
			return err
		}
		if len(body) == 0 {
			return fmt.Errorf("name what to change: --expires, --origin, --ip, --method, --requests-per-second, --streams or --stream-addresses")
		}
		return ask(cmd, c, http.MethodPatch, path, body, adminapi.ShowKey)
	})
	ruleFlags(cmd.Flags())
	return cmd
}

func rotateKeyCommand() *cobra.Command {
	var grace string
	cmd := adminCommand(&cobra.Command{
		Use:   "rotate PRODUCT NAME",
		Short: "Give a key a new secret; the earlier one works on for a grace period",
		Example: `  mintlake keys rotate rpc alice
  mintlake keys rotate rpc alice --grace 0s     # the earlier secrets end now`,
		Args: productAndName,
	}, func(cmd *cobra.Command, args []string, c *adminapi.Client) error {
		path, err := adminapi.KeyPath(args)
		if err != nil {
			return err
		}
		d, err := adminapi.Span(grace)
		if err != nil || d < 0 {
			return fmt.Errorf("--grace %q: must be a time like 7d or 12h, or 0s", grace)
		}
		return ask(cmd, c, http.MethodPost, path+"/rotate", map[string]string{"grace": d.String()}, adminapi.ShowSecret)
	})
	cmd.Flags().StringVar(&grace, "grace", "7d", "how long the earlier secrets work on; 0s = not at all")
	return cmd
}

func revokeKeyCommand() *cobra.Command {
	var reason string
	cmd := adminCommand(&cobra.Command{
		Use:   "revoke PRODUCT NAME",
		Short: "End a key for ever, with all its secrets and its open streams",
		Args:  productAndName,
	}, func(cmd *cobra.Command, args []string, c *adminapi.Client) error {
		path, err := adminapi.KeyPath(args)
		if err != nil {
			return err
		}
		return ask(cmd, c, http.MethodPost, path+"/revoke", map[string]string{"reason": reason}, adminapi.ShowKey)
	})
	cmd.Flags().StringVar(&reason, "reason", "", "why, for the log of changes")
	return cmd
}

func showKeyCommand() *cobra.Command {
	return adminCommand(&cobra.Command{
		Use: "show PRODUCT NAME", Short: "Show a key: state, rules, secrets by their beginnings", Args: productAndName,
	}, func(cmd *cobra.Command, args []string, c *adminapi.Client) error {
		path, err := adminapi.KeyPath(args)
		if err != nil {
			return err
		}
		return ask(cmd, c, http.MethodGet, path, nil, adminapi.ShowKey)
	})
}

// keyPage is a page of the list.
type keyPage struct {
	Keys []json.RawMessage `json:"keys"`
	Next string            `json:"next"`
}

func listKeysCommand() *cobra.Command {
	var all bool
	cmd := adminCommand(&cobra.Command{
		Use: "list [PRODUCT]", Short: "List keys, those of the configuration included", Args: cli.Arguments,
	}, func(cmd *cobra.Command, args []string, c *adminapi.Client) error {
		query, err := adminapi.ProductQuery(args)
		if err != nil {
			return err
		}
		asJSON, err := cmd.Flags().GetBool("json")
		if err != nil {
			return err
		}
		table := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
		if !asJSON {
			fmt.Fprintln(table, "PRODUCT\tNAME\tENV\tSTATE\tSECRET\tCREATED\tRULES")
		}
		for {
			var page keyPage
			if err := c.Call(cmd.Context(), http.MethodGet, "/v1/keys?"+query.Encode(), nil, &page); err != nil {
				return err
			}
			for _, raw := range page.Keys {
				if err := adminapi.ListLine(table, raw, asJSON, all); err != nil {
					return err
				}
			}
			if page.Next == "" {
				return table.Flush()
			}
			query.Set("after", page.Next)
		}
	})
	cmd.Flags().BoolVar(&all, "all", false, "list keys that are revoked or expired too")
	return cmd
}

func keyLogCommand() *cobra.Command {
	var limit int
	cmd := adminCommand(&cobra.Command{
		Use: "log [PRODUCT [NAME]]", Short: "Show who changed which key, and when", Args: cli.Arguments,
	}, func(cmd *cobra.Command, args []string, c *adminapi.Client) error {
		query, err := adminapi.ProductQuery(args)
		if err != nil {
			return err
		}
		if len(args) == 2 {
			query.Set("name", args[1])
		}
		query.Set("limit", strconv.Itoa(limit))
		return ask(cmd, c, http.MethodGet, "/v1/log?"+query.Encode(), nil, func(w io.Writer, answer *struct {
			Changes []admin.ChangeAnswer `json:"changes"`
		}) {
			fmt.Fprintln(w, "WHEN\tWHO\tKEY\tWHAT\tDETAIL")
			for i := range answer.Changes {
				line := &answer.Changes[i]
				fmt.Fprintf(w, "%s\t%s\t%s %s\t%s\t%s\n", adminapi.Moment(&line.At), line.By, line.Product, line.Name, line.Change, adminapi.ChangeText(line))
			}
		})
	})
	cmd.Flags().IntVar(&limit, "limit", 100, "at most this many changes, the newest")
	return cmd
}

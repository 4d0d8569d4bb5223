package main

import (
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mintlake/mintlake/client/cli"
	"github.com/mintlake/mintlake/operate/adminapi"
)

func keyUsageCommand() *cobra.Command {
	var from, to, method string
	var by []string
	cmd := adminCommand(&cobra.Command{
		Use:   "usage [PRODUCT [NAME]]",
		Short: "Show what keys used: requests, bytes, units, streams and addresses",
		Long: `Show what keys used: requests, refused requests, bytes, units, and the most streams and addresses at one time. The figures are some ten seconds behind.

--by says what gets a row of its own: each key, each method, and one of each minute, hour or day. Rows are sorted by them in the order in which you name them.`,
		Example: `  mintlake keys usage                           # of the last day, by key
  mintlake keys usage rpc alice --by day,method --from 30d
  mintlake keys usage --from 2027-01-01T00:00:00Z --to 2027-02-01T00:00:00Z --json`,
		Args: cli.Arguments,
	}, func(cmd *cobra.Command, args []string, c *adminapi.Client) error {
		query, err := adminapi.ProductQuery(args)
		if err != nil {
			return err
		}
		if len(args) == 2 {
			query.Set("key", args[1])
		}
		if err := adminapi.UsageTimes(query, map[string]string{"from": from, "to": to}); err != nil {
			return err
		}
		if method != "" {
			query.Set("method", method)
		}
		query.Set("by", strings.Join(by, ","))
		return ask(cmd, c, http.MethodGet, "/usage?"+query.Encode(), nil, adminapi.ShowUsage)
	})
	cmd.Flags().StringVar(&from, "from", "1d", "show use from then on: a time like 2027-01-31T00:00:00Z, or how long ago, like 30d")
	cmd.Flags().StringVar(&to, "to", "", "show use before then; now, if it is left out")
	cmd.Flags().StringVar(&method, "method", "", "show this method only")
	cmd.Flags().StringSliceVar(&by, "by", []string{"key"}, "what gets a row of its own: key, method, and one of minute, hour, day")
	return cmd
}

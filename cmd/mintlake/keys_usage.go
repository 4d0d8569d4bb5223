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
		Long: `Show what keys used: requests, refused requests, bytes, units, and the most streams and addresses at one time. Figures are some ten seconds old.

--by tells rows apart by key, method, and one of minute, hour and day, in that order of your naming.`,
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
	cmd.Flags().StringVar(&from, "from", "1d", "since then: a time like 2027-01-31T00:00:00Z, or how long ago, like 30d")
	cmd.Flags().StringVar(&to, "to", "", "until then; now, if it is left out")
	cmd.Flags().StringVar(&method, "method", "", "of this method only")
	cmd.Flags().StringSliceVar(&by, "by", []string{"key"}, "tell rows apart by key, method, minute, hour, day")
	return cmd
}

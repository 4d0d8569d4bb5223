package main

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mintlake/mintlake/client/cli"
	"github.com/mintlake/mintlake/gateway/admin"
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
	}, func(cmd *cobra.Command, args []string, c *adminClient) error {
		query, err := productArg(args)
		if err != nil {
			return err
		}
		if len(args) == 2 {
			query.Set("key", args[1])
		}
		if err := usageTimes(query, map[string]string{"from": from, "to": to}); err != nil {
			return err
		}
		if method != "" {
			query.Set("method", method)
		}
		query.Set("by", strings.Join(by, ","))
		return ask(cmd, c, http.MethodGet, "/usage?"+query.Encode(), nil, showUsage)
	})
	cmd.Flags().StringVar(&from, "from", "1d", "since then: a time like 2027-01-31T00:00:00Z, or how long ago, like 30d")
	cmd.Flags().StringVar(&to, "to", "", "until then; now, if it is left out")
	cmd.Flags().StringVar(&method, "method", "", "of this method only")
	cmd.Flags().StringSliceVar(&by, "by", []string{"key"}, "tell rows apart by key, method, minute, hour, day")
	return cmd
}

// usageTimes adds times to the query. It converts days, which the API does not know, to hours.
func usageTimes(query url.Values, times map[string]string) error {
	for name, text := range times {
		if text == "" {
			continue
		}
		if ago, err := span(text); err == nil {
			if ago < 0 {
				return fmt.Errorf("--%s %q: must not be in the future", name, text)
			}
			text = ago.String()
		}
		query.Set(name, text)
	}
	return nil
}

func showUsage(w io.Writer, answer *admin.UsageAnswer) {
	fmt.Fprintln(w, "WHEN\tKEY\tMETHOD\tREQUESTS\tREFUSED\tBYTES\tUNITS\tSTREAMS\tADDRESSES")
	orDash := func(text string) string {
		if text == "" {
			return "-"
		}
		return text
	}
	for i := range answer.Rows {
		r := &answer.Rows[i]
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%d\t%d\t%d\t%d\t%d\n", moment(r.Time), orDash(strings.TrimSpace(r.Product+" "+r.Key)), orDash(r.Method),
			r.Requests, r.Refused, r.Bytes, r.Units, r.Streams, r.Addresses)
	}
	if answer.More {
		fmt.Fprintln(w, "there are more rows: ask for less time, or tell fewer apart")
	}
}

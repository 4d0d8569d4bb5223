package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/mintlake/mintlake/internal/keys"
)

func keysCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "keys", Short: "Make API keys"}
	cmd.AddCommand(&cobra.Command{
		Use:   "new PRODUCT NAME",
		Short: "Make a key of a product (rpc or swap) and print it with the setting that admits it",
		Long: `Make a key of a product: rpc opens the JSON-RPC gateway and the stream, swap opens the swap API.

The key is shown once. What goes into the settings is its hash.`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			product, err := keys.ParseProduct(args[0])
			if err != nil {
				return err
			}
			key, hash := keys.Generate(product)
			entry := args[1] + ":" + hash.String()
			if _, err := keys.ParseEntries(product, []string{entry}); err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "key      %s\nsetting  --%s-keys %s\n", key, product, entry)
			return err
		},
	})
	return cmd
}

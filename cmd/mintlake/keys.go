package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/mintlake/mintlake/access/keys"
)

func keysCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "keys",
		Short: "Make and manage API keys",
		Long: `Make and manage API keys: of product rpc for the JSON-RPC gateway and the stream, of product swap for the swap API.

new makes a key for the configuration, by itself. The other commands ask the admin API of a running node (--admin-addr, and the token in
$MINTLAKE_ADMIN_TOKEN or --admin-token-file); what they change holds on all nodes of the same Kafka within a second, without a restart.`,
	}
	cmd.AddCommand(newKeyCommand(), createKeyCommand(), listKeysCommand(), showKeyCommand(), rotateKeyCommand(), revokeKeyCommand(),
		restrictKeyCommand(), keyLogCommand(), keyUsageCommand())
	return cmd
}

// productAndName checks the arguments PRODUCT and NAME, which most commands on keys take.
func productAndName(cmd *cobra.Command, args []string) error {
	if len(args) != 2 {
		return fmt.Errorf("name the product and the key: %s rpc NAME", cmd.CommandPath())
	}
	return nil
}

func newKeyCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "new PRODUCT NAME",
		Short: "Make a key of a product (rpc or swap) and print it with the setting that admits it",
		Long: `Make a key of a product: rpc opens the JSON-RPC gateway and the stream, swap opens the swap API.

The key is shown once. What goes into the settings is its hash.`,
		Example: `  mintlake keys new rpc alice`,
		Args:    productAndName,
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
	}
}

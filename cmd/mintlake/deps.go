package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	chengine "github.com/mintlake/mintlake/embedded/clickhouse"

	"github.com/mintlake/mintlake/client/cli"
)

// depsCommand is `mintlake deps`, for users who have the binary and no checkout.
func depsCommand() *cobra.Command {
	var from string
	var verify, pathOnly bool
	cmd := &cobra.Command{
		Use:   "deps",
		Short: "Install libchdb, the embedded ClickHouse engine, which a ClickHouse server makes needless",
		Long: `Install libchdb, the embedded ClickHouse engine, into the cache: $MINTLAKE_CACHE_DIR, else $XDG_CACHE_HOME/mintlake, else ~/.cache/mintlake.

npm fetches it. Where npm is not, --from takes libchdb.so, or the .tgz that "npm pack" makes on another machine, as a file or a URL. Version and
SHA-256 are pinned: anything else is refused. It takes 566 MB. Whoever uses a ClickHouse server (--clickhouse-dsn) needs none of this.

The path of the library is printed. Running it again does nothing.`,
		Example: `  mintlake deps
  mintlake deps --from ./chdb-lib-linux-x64-gnu-26.7.3-stable.1.tgz
  MINTLAKE_CACHE_DIR=/var/cache/mintlake mintlake deps`,
		Args: cli.Arguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := chengine.Supported(); err != nil {
				return err
			}
			installer := &chengine.Installer{Pin: chengine.Pinned(), From: from, Log: os.Stderr}
			var path string
			var err error
			switch {
			case from != "" && (verify || pathOnly), verify && pathOnly:
				return errors.New("--from, --verify and --path exclude each other: name one")
			case pathOnly:
				path, err = chengine.CachePath(installer.Pin)
			case verify:
				path, err = installer.Verify()
			default:
				path, err = installer.Install(cmd.Context())
			}
			if err != nil {
				return fmt.Errorf("libchdb: %w", err)
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), path)
			return err
		},
	}
	cmd.Flags().StringVar(&from, "from", "", "take it from here: a file or URL of libchdb.so or of an archive .tgz that holds it")
	cmd.Flags().BoolVar(&verify, "verify", false, "hash the installed library again, install nothing")
	cmd.Flags().BoolVar(&pathOnly, "path", false, "print where the library belongs, install nothing")
	return cmd
}

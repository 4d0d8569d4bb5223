package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/spf13/cobra"

	"github.com/mintlake/mintlake/bootstrap"
	"github.com/mintlake/mintlake/bootstrap/snapshot"
	"github.com/mintlake/mintlake/client/cli"
	"github.com/mintlake/mintlake/operate/backup"
	schema "github.com/mintlake/mintlake/schemas/clickhouse"
)

func exportCommand() *cobra.Command {
	var folder, keyFile string
	cmd := configured(&cobra.Command{
		Use:   "export",
		Short: "Write the registry to Parquet files with a manifest that is signed",
		Long: `Write every fact of the registry, and the tokens for analysts, to Parquet files in a folder, with a manifest of hashes, counts, slot and root.

With --key the manifest is signed (mintlake keys snapshot FILE makes a key); others import it with mintlake import --trust KEY.
While mintlake up runs with its embedded ClickHouse, name that: --clickhouse-dsn http://127.0.0.1:8123.`,
		Example: `  mintlake export --to snapshot --key snapshot.pem`,
		Args:    cli.Arguments,
	}, func(ctx context.Context, cfg *Config, logger *slog.Logger, _ []string) error {
		export := snapshot.ExportConfig{Folder: folder, CreatedAt: time.Now()}
		if keyFile != "" {
			var err error
			if export.Key, err = snapshot.ReadKey(keyFile); err != nil {
				return err
			}
		}
		return withStores(ctx, cfg, logger, onlyTables, func(ctx context.Context, s *system) error {
			export.GenesisHash = genesisForExport(ctx, cfg, logger)
			return exportSnapshot(ctx, export, s.conn)
		})
	})
	cmd.Flags().StringVar(&folder, "to", "", "folder to write to; must hold no snapshot yet")
	cmd.Flags().StringVar(&keyFile, "key", "", "key to sign with; none leaves the snapshot unsigned")
	_ = cmd.MarkFlagRequired("to")
	return cmd
}

func exportSnapshot(ctx context.Context, export snapshot.ExportConfig, conn driver.Conn) error {
	exporter, err := snapshot.NewExporter(export, snapshot.NewClickHouse(conn, schema.Database))
	if err != nil {
		return err
	}
	stop := showBootstrap(exporter.Progress, "facts")
	manifest, err := exporter.Run(ctx)
	stop()
	if err != nil {
		return interrupted(ctx, err, "nothing was left in the folder; run it again")
	}
	fmt.Printf("%d facts of %d mints, %d tokens, up to slot %d, in %d files\n%s\n", manifest.Counts.Facts, manifest.Counts.Mints,
		manifest.Counts.Tokens, manifest.Slot, len(manifest.Files), manifest.Root)
	if manifest.PublicKey != "" {
		fmt.Printf("import with: mintlake import --from %s --trust %s\n", export.Folder, manifest.PublicKey)
	}
	return nil
}

func importCommand() *cobra.Command {
	var folder string
	var trusted []string
	var insecure, restart bool
	cmd := configured(&cobra.Command{
		Use:   "import",
		Short: "Read a snapshot of another node into this registry",
		Long: `Read a snapshot that mintlake export wrote. Signature, hashes, counts and root are verified before anything is written.

The facts go to Kafka, each at its own position, so what this node knows better stays, and an import may run twice; after a kill the same
command goes on. While mintlake up runs with its embedded broker, name that: --kafka-brokers 127.0.0.1:9092.`,
		Example: `  mintlake import --from snapshot --trust 7Np4…`,
		Args:    cli.Arguments,
	}, func(ctx context.Context, cfg *Config, logger *slog.Logger, _ []string) error {
		stateFile, err := cfg.dataPath(backup.ImportFile)
		if err != nil {
			return err
		}
		read := snapshot.ImportConfig{Folder: folder, StateFile: stateFile, Trust: snapshot.Trust{Insecure: insecure}}
		for _, text := range trusted {
			key, err := snapshot.ParsePublicKey(text)
			if err != nil {
				return fmt.Errorf("--trust: %w", err)
			}
			read.Trust.Keys = append(read.Trust.Keys, key)
		}
		return importSnapshot(ctx, cfg, logger, read, restart)
	})
	cmd.Flags().StringVar(&folder, "from", "", "folder of the snapshot")
	cmd.Flags().StringSliceVar(&trusted, "trust", nil, "public key of a signer who is believed; repeat for more")
	cmd.Flags().BoolVar(&insecure, "insecure", false, "believe a snapshot whoever made it")
	cmd.Flags().BoolVar(&restart, "restart", false, "forget what an earlier run has done")
	_ = cmd.MarkFlagRequired("from")
	return cmd
}

func importSnapshot(ctx context.Context, cfg *Config, logger *slog.Logger, read snapshot.ImportConfig, restart bool) error {
	if restart {
		if err := bootstrap.NewStateFile(read.StateFile).Remove(); err != nil {
			return err
		}
	}
	if len(read.Trust.Keys) == 0 && !read.Trust.Insecure {
		return errors.New("whose snapshot is believed? Name its signer with --trust KEY, or say --insecure")
	}
	return withStores(ctx, cfg, logger, onlyLog, func(ctx context.Context, s *system) error {
		if err := s.checkChain(ctx, true); err != nil {
			return err
		}
		read.CheckChain = func(ctx context.Context, genesis string) error { return s.checkManifest(ctx, genesis, read.Folder) }
		var err error
		if read.Log, err = s.admin.ClusterID(ctx); err != nil {
			return err
		}
		importer, err := snapshot.NewImporter(read, s.writers.For("bootstrap"))
		if err != nil {
			return err
		}
		written, err := importer.Written()
		if err != nil {
			return err
		}
		if err := s.checkLog(ctx, read.StateFile, written); err != nil {
			return err
		}
		stop := showBootstrap(importer.Progress, "facts")
		manifest, err := importer.Run(ctx)
		stop()
		if err != nil {
			return interrupted(ctx, err, "the same command goes on where it stopped")
		}
		fmt.Printf("%d facts of %d mints up to slot %d are in the log\n%s\n", manifest.Counts.Facts, manifest.Counts.Mints, manifest.Slot, manifest.Root)
		return nil
	})
}

// snapshotKeyCommand is `mintlake keys snapshot`.
func snapshotKeyCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "snapshot FILE",
		Short: "Make a key that signs snapshots, write it to FILE and print the public key that others trust",
		Args:  cli.Arguments,
		RunE: func(cmd *cobra.Command, args []string) error {
			public, err := snapshot.NewKey(args[0])
			if err != nil {
				return err
			}
			text := snapshot.PublicKeyText(public)
			fmt.Fprintf(cmd.ErrOrStderr(), "sign   mintlake export --key %s\ntrust  mintlake import --trust %s\n", args[0], text)
			_, err = fmt.Fprintln(cmd.OutOrStdout(), text) // alone on standard output, for scripts
			return err
		},
	}
}

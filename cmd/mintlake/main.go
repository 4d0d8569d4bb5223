// Command mintlake is all of Mintlake in one binary: one subcommand per room, and `up` for all of
// them in one process.
//
// This package only connects parts: it opens clients, gives rooms their collaborators, runs them,
// and stops them in order.
package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/mintlake/mintlake/client/cli"
	chengine "github.com/mintlake/mintlake/embedded/clickhouse"
	"github.com/mintlake/mintlake/internal/config"
	"github.com/mintlake/mintlake/logos/decoder"
)

func main() {
	decoder.MaybeRunChild()
	chengine.MaybeRunChild()
	heap.start()
	go new(memoryReleaser).run()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process immediately
	if err := rootCommand().ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "mintlake:", err)
		os.Exit(exitCode(err))
	}
}

func rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:           "mintlake",
		Short:         "A self-hostable registry of every fungible token on Solana",
		SilenceUsage:  true,
		SilenceErrors: true,
		Version:       thisBuild().String(),
	}
	root.PersistentFlags().String("config", os.Getenv("MINTLAKE_CONFIG"), "YAML file with settings ($MINTLAKE_CONFIG)")
	root.SetVersionTemplate("{{.Version}}\n")
	apiKeys := keysCommand()
	apiKeys.AddCommand(snapshotKeyCommand())
	root.AddCommand(upCommand(), migrateCommand(), rebuildCommand(), verifyCommand(), configCommand(), demoCommand(), apiKeys, recordCommand(), backfillCommand(), rootHashCommand(), repairCommand(), bootstrapCommand(), balancesCommand(), exportCommand(), importCommand(), auditCommand(), deadLettersCommand(), unknownsCommand(), logosCommand(), versionCommand(), depsCommand())
	root.AddCommand(probeCommand(), preflightCommand())
	root.AddCommand(backupCommand(), restoreCommand(), offsetsCommand())
	root.AddCommand(roomCommands()...)
	root.AddCommand(cli.Commands(thisBuild().Version)...)
	shapeHelp(root)
	return root
}

// withConfig adds the flags of all settings to a command. run gets the loaded and validated
// configuration. A command without Args takes no arguments.
func withConfig(cmd *cobra.Command, run func(ctx context.Context, cfg *Config, logger *slog.Logger) error) *cobra.Command {
	if cmd.Args == nil {
		cmd.Args = cli.Arguments
	}
	return configured(cmd, func(ctx context.Context, cfg *Config, logger *slog.Logger, _ []string) error {
		return run(ctx, cfg, logger)
	})
}

func loadConfig(cmd *cobra.Command) (*Config, error) {
	path, err := cmd.Flags().GetString("config")
	if err != nil {
		return nil, err
	}
	cfg := defaults()
	if err := config.Load(cfg, path, os.Environ(), cmd.Flags()); err != nil {
		return nil, err
	}
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("configuration: %w", err)
	}
	return cfg, nil
}

func newLogger(cfg *Config) *slog.Logger {
	var level slog.Level
	if err := level.UnmarshalText([]byte(cfg.Log.Level)); err != nil {
		level = slog.LevelInfo // validate has refused every other text
	}
	options := &slog.HandlerOptions{Level: level}
	if cfg.Log.Format == "json" {
		return slog.New(slog.NewJSONHandler(screen, options))
	}
	return slog.New(slog.NewTextHandler(screen, options))
}

func configCommand() *cobra.Command {
	var dump, page, commands bool
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Check the settings, or list them all with their values",
		Long:  "Check the settings from file, environment and flags; with --dump list every key with its value, secrets hidden.",
		Args:  cli.Arguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if commands {
				_, err := fmt.Fprint(cmd.OutOrStdout(), commandsPage(cmd.Root()))
				return err
			}
			if page {
				_, err := fmt.Fprint(cmd.OutOrStdout(), config.Page(defaults()))
				return err
			}
			cfg, err := loadConfig(cmd)
			if err != nil {
				return err
			}
			if !dump {
				if err := cfg.checkProcessed(cfg.Rooms); err != nil {
					return fmt.Errorf("configuration: %w", err)
				}
				if cfg.lacksUpstream() {
					fmt.Fprintln(cmd.ErrOrStderr(), "note:", costsOfNoUpstream)
				}
				_, err = fmt.Fprintln(cmd.OutOrStdout(), "configuration is valid")
				return err
			}
			text, err := config.Dump(cfg)
			if err != nil {
				return err
			}
			_, err = cmd.OutOrStdout().Write(text)
			return err
		},
	}
	config.AddFlags(cmd.Flags(), defaults())
	cmd.Flags().BoolVar(&dump, "dump", false, "list every key with its value")
	cmd.Flags().BoolVar(&page, "page", false, "write docs/configuration.md")
	cmd.Flags().BoolVar(&commands, "commands", false, "write docs/commands.md")
	for _, flag := range []string{"page", "commands"} { // for make gen
		_ = cmd.Flags().MarkHidden(flag) // fails only for a flag that does not exist
	}
	cmd.Flags().Bool("check", true, "check only; the default")
	return cmd
}

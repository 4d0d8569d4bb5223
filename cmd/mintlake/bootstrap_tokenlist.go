package main

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/mintlake/mintlake/bootstrap/snapshot"
	"github.com/mintlake/mintlake/bootstrap/tokenlist"
	"github.com/mintlake/mintlake/client/cli"
)

// listFlags are the flags of `mintlake bootstrap tokenlist`.
type listFlags struct {
	name, asOf, replaces string
	trust                []string
}

func bootstrapTokenlistCommand() *cobra.Command {
	var flags listFlags
	cmd := configured(&cobra.Command{
		Use:   "tokenlist FILE...",
		Short: "Read token lists: the Solana token-list JSON schema, bare JSON lists, CSV",
		Long: `Read token lists. They fill what neither the chain nor the metadata's document says, add tags, and make no mint a member of the registry.
The tag verified comes from lists only: read those that you trust.

CSV has a header with mint (or address) and any of name, symbol, decimals, logo_uri, tags (separated by ; or |), extensions.NAME.
A newer version of a list takes the place of the older one of the same name; what it leaves out stays listed unless --replaces names the
older file. Of several lists the one whose name sorts first goes first.

With --trust a list must be signed: FILE.sig holds 64 bytes in base64, an Ed25519 signature over the bytes of FILE. Rows show whose it is.`,
		Example: `  mintlake bootstrap tokenlist solana.tokenlist.json verified.csv
  mintlake bootstrap tokenlist curated-2.json --replaces curated-1.json --trust 7Np4…`,
		Args: cli.Arguments,
	}, func(ctx context.Context, cfg *Config, logger *slog.Logger, args []string) error {
		lists, err := readLists(args, &flags)
		if err != nil {
			return err
		}
		return withStores(ctx, cfg, logger, onlyLog, func(ctx context.Context, s *system) error {
			loader, err := tokenlist.NewLoader(s.writers.For("bootstrap"), lists)
			if err != nil {
				return err
			}
			stop := showBootstrap(loader.Progress, "tokens")
			err = loader.Run(ctx)
			stop()
			return interrupted(ctx, err, "run it again: what was written changes nothing")
		})
	})
	cmd.Flags().StringVar(&flags.name, "name", "", "name of the list; default the one in the file, else the file's")
	cmd.Flags().StringVar(&flags.asOf, "as-of", "", "time of a list without a timestamp (2006-01-02T15:04:05Z); default the file's")
	cmd.Flags().StringVar(&flags.replaces, "replaces", "", "file of an earlier version: tokens that the list holds no more are taken off")
	cmd.Flags().StringSliceVar(&flags.trust, "trust", nil, "public key of a signer, base58; each FILE must be signed by one: FILE.sig; repeat for more")
	return cmd
}

// readLists reads the lists. With --replaces it also reads the earlier version, and notes which of
// its tokens the new one has no longer.
func readLists(paths []string, flags *listFlags) ([]*tokenlist.List, error) {
	options, err := flags.options()
	if err != nil {
		return nil, err
	}
	if flags.replaces != "" && len(paths) != 1 {
		return nil, fmt.Errorf("--replaces %s: name one list, the one that takes its place", flags.replaces)
	}
	lists := make([]*tokenlist.List, 0, len(paths))
	for _, path := range paths {
		list, err := readList(path, options)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		tellList(path, list)
		lists = append(lists, list)
	}
	if flags.replaces == "" {
		return lists, nil
	}
	// The earlier version needs no signature: only its mints are read.
	earlier, err := readList(flags.replaces, tokenlist.Options{Name: lists[0].Name})
	if err == nil {
		err = lists[0].Replace(earlier)
	}
	if err != nil {
		return nil, fmt.Errorf("--replaces %s: %w", flags.replaces, err)
	}
	fmt.Printf("%s: %d tokens are listed no more\n", paths[0], len(lists[0].Removed))
	return lists, nil
}

func (f *listFlags) options() (options tokenlist.Options, err error) {
	options.Name = f.name
	if f.asOf != "" {
		if options.AsOf, err = time.Parse(time.RFC3339, f.asOf); err != nil {
			return options, fmt.Errorf("--as-of %s: must be like 2006-01-02T15:04:05Z", f.asOf)
		}
	}
	options.Trust = make([]ed25519.PublicKey, len(f.trust))
	for i, text := range f.trust {
		if options.Trust[i], err = snapshot.ParsePublicKey(text); err != nil {
			return options, fmt.Errorf("--trust: %w", err)
		}
	}
	return options, nil
}

func tellList(path string, list *tokenlist.List) {
	fmt.Printf("%s: list %q of %s, %d tokens, %d of other chains, %d twice, %d refused\n", path, list.Name,
		time.Unix(int64(list.Version), 0).UTC().Format(time.DateTime), len(list.Entries), list.OtherChains, list.Duplicates, len(list.Refused))
	for _, refusal := range list.Refused[:min(len(list.Refused), 10)] {
		fmt.Println("  refused:", refusal)
	}
	fmt.Printf("  sha256 %x\n", list.SHA256)
	if list.Signed != nil {
		fmt.Println("  signed by", snapshot.PublicKeyText(list.Signed.Signer))
	}
}

// readList reads a list and, if signers are trusted, its signature in FILE.sig. The file's name and
// time are used if the list has none.
func readList(path string, options tokenlist.Options) (*tokenlist.List, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	if info, err := file.Stat(); err == nil && options.AsOf.IsZero() {
		options.AsOf = info.ModTime()
	}
	options.Fallback = filepath.Base(path)
	if len(options.Trust) > 0 {
		options.Signature, err = os.ReadFile(path + ".sig")
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	return tokenlist.Parse(file, options)
}

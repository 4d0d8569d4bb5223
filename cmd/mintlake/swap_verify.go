package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/mintlake/mintlake/client/cli"
	"github.com/mintlake/mintlake/swap/trust"
	"github.com/mintlake/mintlake/swap/venue"
	"github.com/mintlake/mintlake/swap/venue/all"
)

// errMismatch makes swap verify end with exit code 1. A file that is no vector makes it end with 2.
var errMismatch = errors.New("not all swaps are what quotes say")

// swapVerifyCommand is `mintlake swap verify`. It computes swaps again that a swap API has recorded
// as mismatches.
func swapVerifyCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "verify FILE...",
		Short: "Compute swaps again that were not what a quote says",
		Long: "Compute swaps again that a swap API wrote down because they were not what a quote says (DATA_DIR/swap/mismatches). " +
			"Exit code 0: all are what a quote of this version says. 1: some are not. 2: a file is none of these.",
		Args: cli.Arguments,
		RunE: func(cmd *cobra.Command, paths []string) error { return verifySwaps(cmd.OutOrStdout(), paths) },
	}
}

// verifySwaps computes the swap of each file again and prints it beside what the chain did.
func verifySwaps(out io.Writer, paths []string) error {
	differs := false
	for _, path := range paths {
		v, err := trust.ReadVector(path)
		if err != nil {
			return &codedError{err, 2}
		}
		now, err := v.Verify(all.Venues())
		if errors.Is(err, trust.ErrVector) {
			return &codedError{fmt.Errorf("%s: %w", path, err), 2}
		}
		said, same := now.String(), err == nil && now == v.Chain
		if err != nil {
			said = "refused, " + string(venue.RefusalOf(err)) + ": " + err.Error()
		}
		word := "the same"
		if !same {
			word, differs = "NOT the same", true
		}
		fmt.Fprintf(out, "%s\n  %s, slot %d, %s\n  chain   %s\n  quoted  %s\n  now     %s: %s\n", path, v.Venue, v.Slot, v.Signature, v.Chain, v.Quoted, said, word)
	}
	if differs {
		return errMismatch
	}
	return nil
}

package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// Arguments is a cobra.PositionalArgs that checks the number of arguments by the words behind the
// name in Use: "get MINT|SYMBOL" takes one, "set MINT [URL]" one or two, "verify FILE..." one or
// more, "status" none. Its error names the arguments that are missing, or the first argument that
// is too much.
func Arguments(cmd *cobra.Command, args []string) error {
	words := strings.Fields(cmd.Use)[1:]
	least := 0
	for least < len(words) && !strings.HasPrefix(words[least], "[") {
		least++
	}
	switch {
	case len(args) < least:
		missing, verb := strings.Join(words[len(args):least], " and "), "is"
		if least-len(args) > 1 {
			verb = "are"
		}
		return fmt.Errorf("%s %s missing: %s (%s --help tells more)", missing, verb, cmd.CommandPath()+" "+strings.Join(words, " "), cmd.CommandPath())
	case strings.HasSuffix(cmd.Use, "...") || len(args) <= len(words):
		return nil
	case len(words) == 0:
		return fmt.Errorf("%s takes no arguments, and %.40q is one (%s --help tells more)", cmd.CommandPath(), args[0], cmd.CommandPath())
	}
	return fmt.Errorf("%.40q is one argument too many: %s", args[len(words)], cmd.CommandPath()+" "+strings.Join(words, " "))
}

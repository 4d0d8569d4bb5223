package architecture

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit"
)

var link = regexp.MustCompile(`\]\(([^)#]+)(#[^)]*)?\)`)

// Every link between the documents leads somewhere. docs/README.md leads to every document, and
// the README to that.
func TestDocumentsLinkToWhatExists(t *testing.T) {
	root := testkit.Root(t)
	documents, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	require.NoError(t, err)
	tutorials, err := filepath.Glob(filepath.Join(root, "docs", "tutorials", "*.md"))
	require.NoError(t, err)
	require.Len(t, tutorials, 3)
	documents = append(documents, tutorials...)
	readme, index := filepath.Join(root, "README.md"), filepath.Join(root, "docs", "README.md")
	others := []string{readme, filepath.Join(root, "client", "README.md"), filepath.Join(root, "clients", "typescript", "README.md")}
	for _, document := range slices.Concat(documents, others) {
		text, err := os.ReadFile(document)
		require.NoError(t, err)
		for _, match := range link.FindAllStringSubmatch(string(text), -1) {
			if strings.Contains(match[1], "://") {
				continue
			}
			_, err := os.Stat(filepath.Join(filepath.Dir(document), match[1]))
			require.NoError(t, err, "%s links to %s", filepath.Base(document), match[1])
		}
	}
	text, err := os.ReadFile(readme)
	require.NoError(t, err)
	require.Contains(t, string(text), "(docs/README.md)")
	text, err = os.ReadFile(index)
	require.NoError(t, err)
	for _, document := range documents {
		name, err := filepath.Rel(filepath.Dir(index), document)
		require.NoError(t, err)
		require.True(t, document == index || strings.Contains(string(text), "("+name+")"), "docs/README.md does not lead to %s", name)
	}
}

// Blocks that a shell would run say how a test runs them, or that none does: e2e.TestDocs tells
// what the marks mean, TestTheCommandsOfOperations those of its page.
func TestBlocksOfCommandsAreMarked(t *testing.T) {
	root := testkit.Root(t)
	require.NoError(t, filepath.WalkDir(filepath.Join(root, "docs"), func(path string, entry os.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".md" {
			return err
		}
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		if filepath.Base(path) == "operations.md" {
			return nil
		}
		marks := []string{"", "stopped", "start", "elsewhere"}
		if filepath.Base(filepath.Dir(path)) == "tutorials" {
			marks = marks[:3] // a tutorial has nothing that cannot be tried
		}
		for _, match := range regexp.MustCompile("(?m)^```(?:sh|bash|console|shell)(?: (.*))?$").FindAllStringSubmatch(string(text), -1) {
			require.Contains(t, marks, match[1], "%s: ```%s", path, match[0])
		}
		if filepath.Base(path) != "commands.md" { // whose forms are generated
			require.NotRegexp(t, "(?m)^```\n(?:mintlake|bin/|curl|kcat|openssl|make|docker) ", string(text), "%s: commands without a mark", path)
		}
		// What starts the node is what the README says, which make test-newcomer runs.
		readme, err := os.ReadFile(filepath.Join(root, "README.md"))
		require.NoError(t, err)
		for _, match := range regexp.MustCompile("(?s)```sh start\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
			require.Contains(t, string(readme), "```sh\n"+match[1]+"```", path)
		}
		return nil
	}))
}

// What the README tells people to type is what the Makefile and the binary know.
func TestReadmeNamesTargetsThatExist(t *testing.T) {
	root := testkit.Root(t)
	text, err := os.ReadFile(filepath.Join(root, "README.md"))
	require.NoError(t, err)
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	require.NoError(t, err)
	for _, match := range regexp.MustCompile(`(?m)^make ([a-z-]+)`).FindAllStringSubmatch(string(text), -1) {
		require.Regexp(t, `(?m)^`+match[1]+`:`, string(makefile))
	}
}

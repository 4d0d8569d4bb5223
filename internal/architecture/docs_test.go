package architecture

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit"
)

var link = regexp.MustCompile(`\]\(([^)#]+)(#[^)]*)?\)`)

// Every link between the documents leads somewhere, and every document is linked from the README.
func TestDocumentsLinkToWhatExists(t *testing.T) {
	root := testkit.Root(t)
	documents, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	require.NoError(t, err)
	readme := filepath.Join(root, "README.md")
	for _, document := range append(documents, readme) {
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
	for _, document := range documents {
		name := "docs/" + filepath.Base(document)
		require.True(t, strings.Contains(string(text), name), "the README does not lead to %s", name)
	}
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

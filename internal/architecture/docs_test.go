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

var (
	link    = regexp.MustCompile(`\]\(([^)#\s]*)(#[^)]*)?\)`)
	heading = regexp.MustCompile("(?m)^#{1,6} (.*)$")
	named   = regexp.MustCompile(`<a id="([^"]+)">`)
	// noAnchor is what GitHub leaves out of the anchor of a heading.
	noAnchor = regexp.MustCompile(`[^\pL\pN _-]`)
)

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
	others, err := filepath.Glob(filepath.Join(root, "docs", "decisions", "*.md"))
	require.NoError(t, err)
	roots, err := filepath.Glob(filepath.Join(root, "*.md"))
	require.NoError(t, err)
	others = append(append(others, roots...), filepath.Join(root, "client", "README.md"), filepath.Join(root, "clients", "typescript", "README.md"))
	for _, document := range slices.Concat(documents, others) {
		text, err := os.ReadFile(document)
		require.NoError(t, err)
		for _, match := range link.FindAllStringSubmatch(string(text), -1) {
			if strings.Contains(match[1], "://") {
				continue
			}
			requireLink(t, document, match[1], strings.TrimPrefix(match[2], "#"))
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

// requireLink fails the test unless the file of a link exists, and has what its anchor names.
func requireLink(t *testing.T, document, file, anchor string) {
	t.Helper()
	path := document
	if file != "" {
		path = filepath.Join(filepath.Dir(document), file)
	}
	_, err := os.Stat(path)
	require.NoError(t, err, "%s links to %s", filepath.Base(document), file)
	if anchor == "" || filepath.Ext(path) != ".md" {
		return
	}
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	var anchors []string
	for _, match := range heading.FindAllStringSubmatch(string(text), -1) {
		anchors = append(anchors, strings.ReplaceAll(noAnchor.ReplaceAllString(strings.ToLower(match[1]), ""), " ", "-"))
	}
	for _, match := range named.FindAllStringSubmatch(string(text), -1) {
		anchors = append(anchors, match[1])
	}
	require.Contains(t, anchors, anchor, "%s links to %s#%s", filepath.Base(document), file, anchor)
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

// A table without a header is shown as plain text.
func TestTablesHaveHeaders(t *testing.T) {
	pages, err := filepath.Glob(filepath.Join(testkit.Root(t), "docs", "*.md"))
	require.NoError(t, err)
	separator := regexp.MustCompile(`^\|[-:| ]*-[-:| ]*\|$`)
	for _, page := range pages {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		lines := strings.Split(string(text), "\n")
		for i, line := range lines[1:] {
			if strings.HasPrefix(line, "|") && !strings.HasPrefix(lines[i], "|") {
				require.Regexp(t, separator, lines[i+2], "%s:%d", page, i+2)
				require.NotRegexp(t, separator, line, "%s:%d", page, i+2)
			}
		}
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

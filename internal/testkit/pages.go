package testkit

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Block is a fenced block of a page. Mark is what follows the three backquotes, Text has the lines
// between the fences.
type Block struct{ Mark, Text string }

var fenced = regexp.MustCompile("(?ms)^```([^\n]*)\n(.*?)^```")

// Pages returns the pages of docs/, as paths below it.
func Pages(t testing.TB) (pages []string) {
	t.Helper()
	err := fs.WalkDir(os.DirFS(filepath.Join(Root(t), "docs")), ".", func(path string, _ fs.DirEntry, err error) error {
		if filepath.Ext(path) == ".md" {
			pages = append(pages, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return pages
}

// Blocks returns the blocks of a page of docs/, in their order.
func Blocks(t testing.TB, page string) (blocks []Block) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(Root(t), "docs", page))
	if err != nil {
		t.Fatal(err)
	}
	for _, match := range fenced.FindAllStringSubmatch(string(text), -1) {
		blocks = append(blocks, Block{match[1], match[2]})
	}
	return blocks
}

// RequireExample fails the test unless the page has a block of Go, and file has each line of the
// first such block. file is a Go file beside the test. So what compiles and tests that file checks
// the page too.
func RequireExample(t testing.TB, page, file string) {
	t.Helper()
	own, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, block := range Blocks(t, page) {
		if block.Mark != "go" {
			continue
		}
		for line := range strings.Lines(block.Text) {
			if !strings.Contains(string(own), strings.TrimSpace(line)) {
				t.Fatalf("docs/%s shows what %s does not run: %s", page, file, line)
			}
		}
		return
	}
	t.Fatalf("docs/%s has no Go", page)
}

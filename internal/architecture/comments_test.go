package architecture

import (
	"bytes"
	"go/scanner"
	"go/token"
	"os"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit"
)

const (
	// commentColumns is where a comment ends at the latest: CONTRIBUTING.md.
	commentColumns = 100
	tabColumns     = 4
)

// directive is a comment that a tool reads, like go:embed and nolint.
var directive = regexp.MustCompile(`^//[a-z]`)

// No comment of the Go code goes beyond column 100. Directives are not judged, nor is generated
// code.
func TestCommentsAreNotTooWide(t *testing.T) {
	for _, path := range goFiles(t, testkit.Root(t)) {
		source, err := os.ReadFile(path)
		require.NoError(t, err)
		if bytes.Contains(source, []byte("\n// Code generated ")) || bytes.HasPrefix(source, []byte("// Code generated ")) {
			continue
		}
		lines := bytes.Split(source, []byte("\n"))
		files := token.NewFileSet()
		file := files.AddFile(path, files.Base(), len(source))
		var s scanner.Scanner
		s.Init(file, source, nil, scanner.ScanComments)
		for {
			position, kind, text := s.Scan()
			if kind == token.EOF {
				break
			}
			if kind != token.COMMENT || directive.MatchString(text) {
				continue
			}
			first := file.Line(position)
			for line := first; line <= first+strings.Count(text, "\n"); line++ {
				columns := utf8.RuneCount(bytes.ReplaceAll(lines[line-1], []byte("\t"), bytes.Repeat([]byte(" "), tabColumns)))
				if columns > commentColumns {
					t.Errorf("%s:%d: the comment ends at column %d: at most %d, a tab counts %d", path, line, columns, commentColumns, tabColumns)
				}
			}
		}
	}
}

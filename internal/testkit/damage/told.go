package damage

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// words are words of messages that report damage.
var words = regexp.MustCompile(`(?i)damaged|corrupt|checksum|broken|detached|missing|cannot be (read|checked)|truncated|not ours|differs|\b(lost|gone)\b`)

// Names returns the names by which a message can mean the act's file: its path, its base name if
// that is distinct enough, and the topic or table that the file belongs to. tables has the names of
// ClickHouse's tables by UUID.
func (a Act) Names(tables map[string]string) []string {
	file, names := filepath.ToSlash(a.File), []string{filepath.ToSlash(a.File)}
	folders := strings.Split(file, "/")
	base := folders[len(folders)-1]
	switch at := slices.Index(folders, "partitions"); {
	case at > 0 && at+1 < len(folders): // kafka/broker/partitions/TOPIC-0/0.dat
		folder := folders[at+1]
		names = append(names, strings.Join(folders[at:], "/"), folder)
		if dash := strings.LastIndexByte(folder, '-'); dash > 0 {
			names = append(names, folder[:dash])
		}
		return names
	case slices.Contains(folders, "store"): // clickhouse/engine/store/123/UUID/PART/data.bin
		for i, folder := range folders[:len(folders)-1] {
			if table := tables[folder]; table != "" {
				return append(names, strings.Join(folders[i:], "/"), folder, table)
			}
		}
		if name, ok := strings.CutSuffix(base, ".sql"); ok { // the definition of a table
			names = append(names, base, name)
		}
		return names
	}
	// Without a dot or underscore the base name may be an ordinary word, like "lock" or "status".
	if strings.ContainsAny(base, "._") {
		return append(names, base)
	}
	return append(names, strings.Join(folders[max(len(folders)-2, 0):], "/"))
}

// Told returns the first line of the text that reports damage and has one of the names; false if
// there is none.
func Told(text string, names []string) (line string, ok bool) {
	for line := range strings.Lines(text) {
		rest := line
		named := false
		for _, name := range names {
			if hasWord(line, name) {
				named, rest = true, strings.ReplaceAll(rest, name, "")
			}
		}
		// The names are removed first, because a name like checksums.txt has one of the words
		// itself.
		if named && words.MatchString(rest) {
			return strings.TrimSuffix(line, "\n"), true
		}
	}
	return "", false
}

// hasWord reports whether the text has the name as a whole word, not only as a part of a longer
// one.
func hasWord(text, name string) bool {
	for from := 0; ; {
		at := strings.Index(text[from:], name)
		if at < 0 {
			return false
		}
		begin, end := from+at, from+at+len(name)
		if (begin == 0 || !inWord(text[begin-1])) && (end == len(text) || !inWord(text[end])) {
			return true
		}
		from = begin + 1
	}
}

func inWord(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

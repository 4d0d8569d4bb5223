package chhttp

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// tokenKind is the kind of a token. The lexer knows only as much of ClickHouse's grammar as is
// needed to find where the clauses of a statement begin.
type tokenKind int

const (
	tokenEnd    tokenKind = iota
	tokenWord             // unquoted identifier or keyword
	tokenQuoted           // identifier in backquotes or double quotes
	tokenString           // string literal or heredoc
	tokenNumber
	tokenPunctuation // one byte
)

// token is query[start:end].
type token struct {
	kind       tokenKind
	start, end int
}

// lexer splits a statement into tokens, without white space and comments. It follows ClickHouse's
// lexer: `--`, `//`, `#!` and `# ` line comments, nested `/* */` comments, escapes by a backslash
// or a doubled quote, $tag$ heredocs, $ inside words, typographic quotes.
type lexer struct {
	query []byte
	at    int
}

// next returns the next token, and tokenEnd at the end of the statement.
func (l *lexer) next() token {
	l.skipBlank()
	start := l.at
	if start >= len(l.query) {
		return token{tokenEnd, len(l.query), len(l.query)}
	}
	switch ch := l.query[start]; {
	case ch == '\'':
		l.skipQuoted(ch)
		return token{tokenString, start, l.at}
	case ch == '"' || ch == '`':
		l.skipQuoted(ch)
		return token{tokenQuoted, start, l.at}
	case ch == '$':
		if l.skipHeredoc() {
			return token{tokenString, start, l.at}
		}
		l.at++
		return token{tokenPunctuation, start, l.at}
	case hasPrefix(l.query[start:], "‘"):
		l.skipPast(l.query[start:], "’")
		return token{tokenString, start, l.at}
	case hasPrefix(l.query[start:], "“"):
		l.skipPast(l.query[start:], "”")
		return token{tokenQuoted, start, l.at}
	case isLetter(ch):
		l.skipWhile(func(c byte) bool { return isWordByte(c) || c == '$' })
		return token{tokenWord, start, l.at}
	case isDigit(ch):
		l.skipWhile(isWordByte)
		return token{tokenNumber, start, l.at}
	default:
		l.at++
		return token{tokenPunctuation, start, l.at}
	}
}

// skipBlank skips white space and comments.
func (l *lexer) skipBlank() {
	for l.at < len(l.query) {
		rest := l.query[l.at:]
		switch {
		case isSpace(rest[0]):
			l.at++
		case hasPrefix(rest, "--"), hasPrefix(rest, "//"), hasPrefix(rest, "#!"), hasPrefix(rest, "# "):
			l.skipPast(rest, "\n")
		case hasPrefix(rest, "/*"):
			l.skipComment()
		case hasPrefix(rest, "\u00a0"), hasPrefix(rest, "\ufeff"):
			// no-break space, byte order mark
			_, n := utf8.DecodeRune(rest)
			l.at += n
		default:
			return
		}
	}
}

// skipPast moves behind the first occurrence of end in rest, which begins at l.at. Without one it
// moves to the end of the query.
func (l *lexer) skipPast(rest []byte, end string) {
	i := bytes.Index(rest, []byte(end))
	if i < 0 {
		l.at = len(l.query)
		return
	}
	l.at += i + len(end)
}

// skipComment skips a comment, and the comments that are nested in it.
func (l *lexer) skipComment() {
	for depth := 0; l.at < len(l.query); {
		switch rest := l.query[l.at:]; {
		case hasPrefix(rest, "/*"):
			depth++
			l.at += 2
		case hasPrefix(rest, "*/"):
			depth--
			l.at += 2
			if depth == 0 {
				return
			}
		default:
			l.at++
		}
	}
}

// skipQuoted skips from a quote to the closing one, or to the end of the query.
func (l *lexer) skipQuoted(quote byte) {
	for l.at++; l.at < len(l.query); l.at++ {
		switch l.query[l.at] {
		case '\\':
			l.at++
		case quote:
			if l.at+1 < len(l.query) && l.query[l.at+1] == quote {
				l.at++
				continue
			}
			l.at++
			return
		}
	}
	l.at = len(l.query) // also when a backslash was the last byte
}

// skipHeredoc skips $tag$ … $tag$ and says whether there was one.
func (l *lexer) skipHeredoc() bool {
	rest := l.query[l.at:]
	end := 1
	for end < len(rest) && isWordByte(rest[end]) {
		end++
	}
	if end >= len(rest) || rest[end] != '$' {
		return false
	}
	tag := rest[:end+1]
	closing := bytes.Index(rest[len(tag):], tag)
	if closing < 0 {
		return false
	}
	l.at += len(tag) + closing + len(tag)
	return true
}

func (l *lexer) skipWhile(ok func(byte) bool) {
	for l.at < len(l.query) && ok(l.query[l.at]) {
		l.at++
	}
}

// word returns an unquoted word in capitals; empty for any other token.
func (l *lexer) word(t token) string {
	if t.kind != tokenWord {
		return ""
	}
	return strings.ToUpper(string(l.query[t.start:t.end]))
}

// is reports whether the token is this punctuation byte.
func (l *lexer) is(t token, punctuation byte) bool {
	return t.kind == tokenPunctuation && l.query[t.start] == punctuation
}

func hasPrefix(text []byte, prefix string) bool {
	return len(text) >= len(prefix) && string(text[:len(prefix)]) == prefix
}

func isLetter(c byte) bool   { return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }
func isDigit(c byte) bool    { return c >= '0' && c <= '9' }
func isWordByte(c byte) bool { return isLetter(c) || isDigit(c) }
func isSpace(c byte) bool    { return c == ' ' || c >= '\t' && c <= '\r' }

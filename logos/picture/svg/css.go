package svg

import (
	"strings"

	"github.com/tdewolff/parse/v2"
	"github.com/tdewolff/parse/v2/css"
)

// Limits of style sheets: a browser matches every rule with every element.
const (
	maxSheets       = 32
	maxSheetBytes   = 512 << 10
	maxRules        = 4_000
	maxSelectors    = 16_000
	maxCompounds    = 10         // of one selector; a space beside >, + or ~ counts as one more
	maxMatches      = 20_000_000 // selectors times elements
	maxCustomValue  = 200        // bytes of a custom property (--name)
	maxDeclarations = 20_000
)

// token is a CSS token.
type token struct {
	kind css.TokenType
	text string
}

// tokensOf splits CSS into tokens. Comments become spaces. It returns false if the text has
// something that this package does not interpret: an escape, which can write any name in another
// way; a string or an address that is not closed; markup.
func tokensOf(text string) ([]token, bool) {
	if strings.ContainsAny(text, "\\\x00") || strings.Contains(text, "<") {
		return nil, false
	}
	lexer := css.NewLexer(parse.NewInputString(text))
	var list []token
	for {
		kind, raw := lexer.Next()
		switch kind {
		case css.ErrorToken:
			return list, true // the end of the text: the lexer has no other error here
		case css.BadStringToken, css.BadURLToken, css.CDOToken, css.CDCToken:
			return nil, false
		case css.CommentToken:
			kind, raw = css.WhitespaceToken, []byte(" ")
		default:
		}
		list = append(list, token{kind, string(raw)})
	}
}

// cleanValue returns a value without its comments, and the ids in the document that it refers to.
// It returns false if the value has something that this package does not allow.
func cleanValue(text string) (clean string, references []string, ok bool) {
	list, ok := tokensOf(text)
	if !ok {
		return "", nil, false
	}
	references, ok = valueOf(list)
	return textOf(list), references, ok
}

// valueOf checks the tokens of a value, and returns the ids that it refers to. It returns false if
// a token is not allowed.
func valueOf(list []token) (references []string, ok bool) {
	depth := 0
	for _, t := range list {
		switch t.kind {
		case css.IdentToken, css.HashToken, css.NumberToken, css.PercentageToken, css.DimensionToken, css.WhitespaceToken, css.CommaToken, css.ColonToken,
			css.UnicodeRangeToken, css.SemicolonToken:
		case css.CustomPropertyNameToken:
		case css.DelimToken:
			if !strings.ContainsAny(t.text, "+-*/.!%=") {
				return nil, false
			}
		case css.StringToken:
			if !closedString(t.text) {
				return nil, false
			}
		case css.URLToken:
			id, local := localURL(t.text)
			if !local {
				return nil, false
			}
			references = append(references, id)
		case css.FunctionToken:
			if !functions[strings.ToLower(strings.TrimSuffix(t.text, "("))] {
				return nil, false
			}
			depth++
		case css.LeftParenthesisToken: // inside calc()
			if depth++; depth == 1 {
				return nil, false
			}
		case css.RightParenthesisToken:
			if depth--; depth < 0 {
				return nil, false
			}
		default:
			return nil, false
		}
		if depth > 16 {
			return nil, false
		}
	}
	return references, depth == 0
}

// closedString reports whether a string token ends with its quote and has no url(.
func closedString(text string) bool {
	return len(text) >= 2 && text[0] == text[len(text)-1] && !strings.Contains(strings.ToLower(text), "url(")
}

// localURL returns the id in url(#id); false for any other address.
func localURL(text string) (id string, ok bool) {
	inner := strings.Trim(strings.TrimSuffix(text[len("url("):], ")"), spaces+"\f")
	if len(inner) >= 2 && (inner[0] == '"' || inner[0] == '\'') && inner[len(inner)-1] == inner[0] {
		inner = inner[1 : len(inner)-1]
	}
	id, ok = strings.CutPrefix(inner, "#")
	return id, ok && isID(id) && strings.HasSuffix(text, ")")
}

// declarations are the declarations of a rule or of a style attribute that are kept.
type declarations struct {
	text       string
	references []reference
}

// reference is a part of the document that a property refers to.
type reference struct {
	id string
	// inherited is true if the elements inside have the property too.
	inherited bool
}

// ownProperties are properties with references that the elements inside do not inherit; all others
// are inherited.
var ownProperties = setOf("filter mask clip-path")

// cleanDeclarations cleans the text of a style attribute, such as "fill:red;stroke:url(#a)".
func cleanDeclarations(text string) declarations {
	list, ok := tokensOf(text)
	if !ok { // each declaration on its own, so that the good ones are kept
		var clean declarations
		parts := strings.Split(text, ";")
		if len(parts) > 1 {
			for _, part := range parts {
				clean.add(cleanDeclarations(part))
			}
		}
		return clean
	}
	return declarationsOf(list)
}

func (d *declarations) add(more declarations) {
	if more.text != "" && d.text != "" {
		d.text += ";"
	}
	d.text += more.text
	d.references = append(d.references, more.references...)
}

// declarationsOf keeps the declarations whose property and value are allowed.
func declarationsOf(list []token) declarations {
	var texts []string
	var clean declarations
	for _, part := range split(list, css.SemicolonToken) {
		part = trim(part)
		if len(part) < 3 || part[0].kind != css.IdentToken && part[0].kind != css.CustomPropertyNameToken {
			continue
		}
		name := part[0].text
		rest := trim(part[1:])
		if rest[0].kind != css.ColonToken {
			continue
		}
		value := trim(rest[1:])
		custom := strings.HasPrefix(name, "--")
		if !custom {
			name = strings.ToLower(name)
		}
		references, ok := valueOf(value)
		text := textOf(value)
		switch {
		case !ok || len(value) == 0:
			continue
		case custom && (len(text) > maxCustomValue || len(references) > 0 || strings.Contains(strings.ToLower(text), "var(")):
			continue // custom properties that refer to others can expand like entities
		case !custom && !presentation[name] && !properties[name]:
			continue
		}
		for _, id := range references {
			clean.references = append(clean.references, reference{id, !ownProperties[name]})
		}
		texts = append(texts, name+":"+text)
	}
	clean.text = strings.Join(texts, ";")
	return clean
}

// split splits a list at the tokens of a kind that are not in parentheses.
func split(list []token, at css.TokenType) (parts [][]token) {
	depth, from := 0, 0
	for i, t := range list {
		switch {
		case t.kind == css.FunctionToken || t.kind == css.LeftParenthesisToken:
			depth++
		case t.kind == css.RightParenthesisToken:
			depth--
		case t.kind == at && depth <= 0:
			parts = append(parts, list[from:i])
			from = i + 1
		}
	}
	return append(parts, list[from:])
}

func trim(list []token) []token {
	for len(list) > 0 && list[0].kind == css.WhitespaceToken {
		list = list[1:]
	}
	for len(list) > 0 && list[len(list)-1].kind == css.WhitespaceToken {
		list = list[:len(list)-1]
	}
	return list
}

func textOf(list []token) string {
	var text strings.Builder
	for _, t := range list {
		text.WriteString(t.text)
	}
	return text.String()
}

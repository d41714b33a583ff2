package jsonfile

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
)

// The last field of a document from Write is the SHA-256 of the document without that field and
// without white space. Changes of white space are therefore allowed; any other difference means
// that the file was edited or damaged.
const (
	sealHead = `,"sha256":"`
	sealTail = `"}`
	sealSize = len(sealHead) + 2*sha256.Size + len(sealTail)
)

// sealed adds the checksum to a document, which is indented JSON that ends in a newline.
func sealed(text []byte) ([]byte, error) {
	body, object := bytes.CutSuffix(text, []byte("\n}\n"))
	if !object {
		return text, nil // an empty object, or not an object
	}
	var bare bytes.Buffer
	if err := json.Compact(&bare, text); err != nil {
		return nil, err
	}
	return append(body, ",\n  \"sha256\": \""+digest(bare.Bytes())+"\"\n}\n"...), nil
}

// Edited reports whether the content of a document differs from the content that Write wrote. It
// returns false for a document of an earlier version, which has no checksum. A correct checksum in
// a last field of another name means that the name was damaged.
func Edited(text []byte) bool {
	var bare bytes.Buffer
	if json.Compact(&bare, text) != nil {
		return false // the caller reads the text too and reports that it is not JSON
	}
	body := bare.Bytes()
	at := len(body) - sealSize
	if at < 1 || body[at] != ',' {
		return hasSum(body) // true if the checksum is no longer the last field
	}
	said := string(body[at+len(sealHead) : len(body)-len(sealTail)])
	fits := said == digest(body[:at], []byte("}"))
	if bytes.HasPrefix(body[at:], []byte(sealHead)) {
		return !fits
	}
	return fits || hasSum(body)
}

// hasSum reports whether a document has a field sha256 anywhere.
func hasSum(text []byte) bool {
	var other struct {
		Sum *json.RawMessage `json:"sha256"`
	}
	return json.Unmarshal(text, &other) == nil && other.Sum != nil
}

func digest(parts ...[]byte) string {
	sum := sha256.New()
	for _, text := range parts {
		sum.Write(text)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

package jsonfile

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
)

// The last field of a document that Write wrote is the SHA-256 of the document without that
// field and without white space. Another layout of the file is the same document; a file whose
// content is another one was edited, or damaged.
const (
	sealHead = `,"sha256":"`
	sealTail = `"}`
	sealSize = len(sealHead) + 2*sha256.Size + len(sealTail)
)

// sealed adds its checksum to a document: an object as indented JSON, with a newline.
func sealed(text []byte) ([]byte, error) {
	body, object := bytes.CutSuffix(text, []byte("\n}\n"))
	if !object {
		return text, nil // an empty object, or none
	}
	var bare bytes.Buffer
	if err := json.Compact(&bare, text); err != nil {
		return nil, err
	}
	return append(body, ",\n  \"sha256\": \""+digest(bare.Bytes())+"\"\n}\n"...), nil
}

// Edited reports whether the content of a document is not the one that Write wrote. A document
// without a checksum, as earlier versions wrote it, cannot tell.
func Edited(text []byte) bool {
	var bare bytes.Buffer
	if json.Compact(&bare, text) != nil {
		return false // it is no document, which its reader says
	}
	body := bare.Bytes()
	at := len(body) - sealSize
	if at < 1 || !bytes.HasPrefix(body[at:], []byte(sealHead)) {
		var other struct {
			Sum *json.RawMessage `json:"sha256"`
		}
		return json.Unmarshal(body, &other) == nil && other.Sum != nil // it was the last field
	}
	said := string(body[at+len(sealHead) : len(body)-len(sealTail)])
	return said != digest(append(body[:at], '}'))
}

func digest(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

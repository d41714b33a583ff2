package formats

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
)

// maxMembers is the most files of an archive: a job has at most a file a rank.
const maxMembers = 1 << 16

// unpack calls visit with a file's content, decompressed, or with each file of an archive.
func unpack(name string, r io.Reader, visit func(name string, r io.Reader) error) error {
	in, err := Decompressed(bufio.NewReaderSize(r, Head))
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if head, _ := in.Peek(263); len(head) < 262 || string(head[257:262]) != "ustar" {
		return visit(name, in)
	}
	files := 0
	for archive := tar.NewReader(in); ; {
		h, err := archive.Next()
		switch {
		case errors.Is(err, io.EOF) && files == 0:
			return fmt.Errorf("%s: %w: the archive has no files", name, ErrDamaged)
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("%s: %w: tar: %w", name, ErrDamaged, err)
		case h.Typeflag != tar.TypeReg || strings.HasPrefix(path.Base(h.Name), "._"): // macOS adds "._" files to archives
			continue
		}
		if files++; files > maxMembers {
			return fmt.Errorf("%s: %w: over %d files", name, ErrDamaged, maxMembers)
		}
		if err := visit(name+"/"+path.Base(h.Name), archive); err != nil {
			return err
		}
	}
}

// Decompressed is an input, decompressed where it is gzip. The error wraps ErrDamaged.
func Decompressed(in *bufio.Reader) (*bufio.Reader, error) {
	if head, _ := in.Peek(2); !bytes.Equal(head, []byte{0x1f, 0x8b}) {
		return in, nil
	}
	z, err := gzip.NewReader(in)
	if err != nil {
		return nil, fmt.Errorf("%w: gzip: %w", ErrDamaged, err)
	}
	return bufio.NewReaderSize(z, Head), nil
}

// peek returns the first bytes of an input, which stays whole.
func peek(name string, r io.Reader) (*Input, []byte, error) {
	in := bufio.NewReaderSize(r, Head)
	head, err := in.Peek(Head)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, nil, fmt.Errorf("%s: %w", name, err)
	}
	return &Input{name, in}, head, nil
}

// Identify says what a file is by its first bytes, as they are on disk; false if it is nothing
// known. Of an archive it looks at the first file.
func Identify(head []byte) (f Format, ok bool) {
	in := bufio.NewReaderSize(bytes.NewReader(head), Head)
	found := errors.New("found")
	_ = unpack("", in, func(_ string, r io.Reader) error { // the end of the first bytes is no error
		text, _ := io.ReadAll(io.LimitReader(r, Head))
		f, ok = Recognise(text)
		return found
	})
	return f, ok
}

package main

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/pavlo-v-chernykh/keystore-go/v4"
)

// javaStoreFile has the same authorities as bundleFile, in the format that Java reads.
const javaStoreFile = "run/aibox/authorities.jks"

// javaOptionsVariable has options for every JVM.
const javaOptionsVariable = "JAVA_TOOL_OPTIONS"

// javaTrust writes the authorities of a bundle for Java, and returns the variable that makes
// a JVM trust them in place of its own; "" if the user's options name a store already.
func javaTrust(root string, env []string, bundle []byte) (string, error) {
	const property = "-Djavax.net.ssl.trustStore"
	options := lookup(env, javaOptionsVariable)
	if strings.Contains(options, property+"=") {
		return "", nil
	}
	store, err := javaStore(bundle)
	if err != nil {
		return "", fmt.Errorf("authorities for Java: %w", err)
	}
	if err := writeFile(filepath.Join(root, javaStoreFile), store, 0o644); err != nil {
		return "", err
	}
	added := fmt.Sprintf("%[1]s=/%[2]s %[1]sType=JKS", property, javaStoreFile)
	return javaOptionsVariable + "=" + strings.TrimSpace(options+" "+added), nil
}

// javaStore returns the certificates of a bundle as a keystore. It leaves out invalid
// certificates, since Java refuses a store that contains one.
func javaStore(bundle []byte) ([]byte, error) {
	// A JVM without a password does not check the store's digest, and every program in the
	// sandbox knows this password.
	password := []byte("changeit")
	store := keystore.New(keystore.WithOrderedAliases())
	for n := 0; ; {
		var block *pem.Block
		if block, bundle = pem.Decode(bundle); block == nil {
			break
		}
		if _, err := x509.ParseCertificate(block.Bytes); block.Type != "CERTIFICATE" || err != nil {
			continue
		}
		entry := keystore.TrustedCertificateEntry{
			CreationTime: time.Unix(0, 0),
			Certificate:  keystore.Certificate{Type: "X.509", Content: block.Bytes},
		}
		if err := store.SetTrustedCertificateEntry(fmt.Sprintf("aibox-%d", n), entry); err != nil {
			return nil, err
		}
		n++
	}
	var data bytes.Buffer
	if err := store.Store(&data, password); err != nil {
		return nil, err
	}
	return data.Bytes(), nil
}

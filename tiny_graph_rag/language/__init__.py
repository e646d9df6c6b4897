"""What the program knows of English and Korean, each list once: words, stems, particles, kinds, pronouns."""

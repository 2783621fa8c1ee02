//! Rust source as words, literals and signs: enough of the language to tell a string from a
//! comment and a lifetime from a character.

/// A piece of source text with the line it begins on.
#[derive(Clone, Debug, PartialEq)]
pub struct Token {
    pub kind: Kind,
    pub line: usize,
}

/// What a piece of source text is.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// A name, a keyword or a number.
    Word(String),
    /// The contents of a string literal of any form; escapes other than quotes are blanks.
    Text(String),
    /// A character literal or a lifetime.
    Quoted,
    /// One sign.
    Sign(char),
}

impl Token {
    pub fn is_word(&self, word: &str) -> bool {
        matches!(&self.kind, Kind::Word(found) if found == word)
    }

    pub fn is_sign(&self, sign: char) -> bool {
        self.kind == Kind::Sign(sign)
    }

    pub fn word(&self) -> Option<&str> {
        match &self.kind {
            Kind::Word(word) => Some(word),
            _ => None,
        }
    }
}

/// All tokens of a source text; comments are left out.
pub fn tokens(source: &str) -> Vec<Token> {
    let mut reader = Reader { chars: source.chars().collect(), at: 0, line: 1 };
    let mut found = Vec::new();
    while let Some(token) = reader.token() {
        found.push(token);
    }
    found
}

struct Reader {
    chars: Vec<char>,
    at: usize,
    line: usize,
}

impl Reader {
    fn peek(&self, ahead: usize) -> Option<char> {
        self.chars.get(self.at + ahead).copied()
    }

    fn next(&mut self) -> Option<char> {
        let next = self.peek(0)?;
        self.at += 1;
        self.line += usize::from(next == '\n');
        Some(next)
    }

    fn skip(&mut self, count: usize) {
        for _ in 0..count {
            self.next();
        }
    }

    fn token(&mut self) -> Option<Token> {
        self.skip_blanks_and_comments();
        let line = self.line;
        let first = self.peek(0)?;
        let kind = match first {
            '"' => self.string(0),
            '\'' => self.quoted(),
            _ if is_word(first) => self.word_or_prefixed(),
            _ => {
                self.next();
                Kind::Sign(first)
            }
        };
        Some(Token { kind, line })
    }

    fn skip_blanks_and_comments(&mut self) {
        loop {
            match (self.peek(0), self.peek(1)) {
                (Some(blank), _) if blank.is_whitespace() => self.skip(1),
                (Some('/'), Some('/')) => {
                    while self.peek(0).is_some_and(|next| next != '\n') {
                        self.skip(1);
                    }
                }
                (Some('/'), Some('*')) => self.skip_block_comment(),
                _ => return,
            }
        }
    }

    fn skip_block_comment(&mut self) {
        let mut depth = 0;
        loop {
            match (self.peek(0), self.peek(1)) {
                (Some('/'), Some('*')) => (depth, _) = (depth + 1, self.skip(2)),
                (Some('*'), Some('/')) => (depth, _) = (depth - 1, self.skip(2)),
                (None, _) => return,
                _ => self.skip(1),
            }
            if depth == 0 {
                return;
            }
        }
    }

    /// A word, or a string literal with letters before its quote: `r#".."#`, `b".."`, `c".."`.
    fn word_or_prefixed(&mut self) -> Kind {
        let start = self.at;
        while self.peek(0).is_some_and(is_word) {
            self.skip(1);
        }
        let word: String = self.chars[start..self.at].iter().collect();
        let hashes = (0..).take_while(|&ahead| self.peek(ahead) == Some('#')).count();
        match (word.as_str(), self.peek(hashes)) {
            ("r" | "br" | "cr", Some('"')) => {
                self.skip(hashes);
                self.raw_string(hashes)
            }
            ("b" | "c", Some('"')) if hashes == 0 => self.string(0),
            ("b", Some('\'')) if hashes == 0 => self.quoted(),
            _ => Kind::Word(word),
        }
    }

    fn string(&mut self, skipped: usize) -> Kind {
        self.skip(skipped + 1);
        let mut text = String::new();
        while let Some(next) = self.next() {
            match next {
                '"' => break,
                '\\' => self.escape(&mut text),
                _ => text.push(next),
            }
        }
        Kind::Text(text)
    }

    fn escape(&mut self, text: &mut String) {
        match self.next() {
            Some(quote @ ('"' | '\'' | '\\')) => text.push(quote),
            // Text goes on in the next line.
            Some('\n') => {
                while self.peek(0).is_some_and(char::is_whitespace) {
                    self.skip(1);
                }
            }
            Some('x') => {
                self.skip(2);
                text.push(' ');
            }
            _ => text.push(' '),
        }
    }

    fn raw_string(&mut self, hashes: usize) -> Kind {
        self.skip(1);
        let mut text = String::new();
        while let Some(next) = self.next() {
            let closes = next == '"' && (0..hashes).all(|ahead| self.peek(ahead) == Some('#'));
            if closes {
                self.skip(hashes);
                break;
            }
            text.push(next);
        }
        Kind::Text(text)
    }

    fn quoted(&mut self) -> Kind {
        self.skip(1);
        match (self.peek(0), self.peek(1)) {
            (Some('\\'), _) => {
                self.skip(2);
                while self.next().is_some_and(|next| next != '\'') {}
            }
            (Some(_), Some('\'')) => self.skip(2),
            _ => {
                while self.peek(0).is_some_and(is_word) {
                    self.skip(1);
                }
            }
        }
        Kind::Quoted
    }
}

fn is_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

/// Where the bracket at `open` is closed.
pub fn closing(tokens: &[Token], open: usize) -> usize {
    let mut depth = 0usize;
    for (index, token) in tokens.iter().enumerate().skip(open) {
        match token.kind {
            Kind::Sign('(' | '[' | '{') => depth += 1,
            Kind::Sign(')' | ']' | '}') => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return index;
        }
    }
    tokens.len() - 1
}

#[test]
fn strings_comments_and_lifetimes_are_told_apart() {
    let source = r###"
        // "no" string /* nor a comment that begins */
        fn f<'a>(x: &'a str) -> char { /* "no" /* nested */ */ '"'; b'\''; '\u{1F}' }
        let r#type = r#"raw "text""#; b"\x93NUM\"PY"; "one \
            line";
    "###;
    let tokens = tokens(source);
    let text: Vec<&str> = tokens.iter().filter_map(|token| text_of(token)).collect();
    assert_eq!(text, ["raw \"text\"", " NUM\"PY", "one line"]);
    assert_eq!(tokens.iter().filter(|token| token.kind == Kind::Quoted).count(), 5);
    assert_eq!(tokens.last().unwrap().line, 5);
    let open = tokens.iter().position(|token| token.is_sign('{')).unwrap();
    assert_eq!(tokens[closing(&tokens, open) + 1].word(), Some("let"));
}

/// The contents of a string literal.
pub fn text_of(token: &Token) -> Option<&str> {
    match &token.kind {
        Kind::Text(text) => Some(text),
        _ => None,
    }
}

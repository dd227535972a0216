//! Lines to type into a shell.

/// The commands of a script, each as its words, as far as a shell would see them without running anything.
#[must_use]
pub fn commands(script: &str) -> Vec<Vec<String>> {
    let (mut commands, mut words, mut word) = (Vec::new(), Vec::new(), None::<String>);
    let mut quote = None;
    let mut letters = script.chars().peekable();
    while let Some(letter) = letters.next() {
        match (quote, letter) {
            (Some(end), _) if letter == end => quote = None,
            (None, '\'' | '"') => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (None, '#') if word.is_none() => while letters.next_if(|letter| *letter != '\n').is_some() {},
            (None, '\\') if letters.next_if_eq(&'\n').is_some() => {}
            (None, ' ' | '\n' | '|' | '&' | ';' | '>') => {
                words.extend(word.take());
                if letter != ' ' {
                    commands.push(std::mem::take(&mut words));
                }
            }
            _ => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    commands.push(words);
    commands.retain(|words| !words.is_empty());
    commands
}

#[cfg(test)]
mod tests {
    use super::commands;

    #[test]
    fn words_are_those_that_a_shell_sees() {
        let words = commands("a 'b c' # d\n\ne | g & h \\\n  i; j\n");
        assert_eq!(words, [vec!["a", "b c"], vec!["e"], vec!["g"], vec!["h", "i"], vec!["j"]]);
    }
}

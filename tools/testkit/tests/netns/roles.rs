//! What the other processes do. Each line that begins with @ is for the test that started it.

use std::io::{BufRead, BufReader, Write, stdin};
use std::net::TcpListener;

use tenure_testkit::netns::{Namespace, available};

/// Answers each line `x` of one client with `=x`.
pub(crate) fn serve() {
    let listener = TcpListener::bind("0.0.0.0:0").unwrap();
    println!("\n@{}", listener.local_addr().unwrap().port());
    let (mut connection, _) = listener.accept().unwrap();
    for line in BufReader::new(connection.try_clone().unwrap()).lines() {
        let line = line.unwrap();
        println!("\n@{line}");
        writeln!(connection, "={line}").unwrap();
    }
    println!("\n@the end");
}

/// Has a namespace until it is told to end.
pub(crate) fn make_a_namespace() {
    let namespace = Namespace::new().unwrap();
    println!("\n@{}", namespace.name());
    stdin().lock().read_line(&mut String::new()).unwrap();
}

/// Says what is missing.
pub(crate) fn ask_whether_it_is_available() {
    println!("\n@{}", available().unwrap_err());
}

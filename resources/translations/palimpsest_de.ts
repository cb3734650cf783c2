<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" language="de_DE" sourcelanguage="en">
<context>
    <name>palimpsest::ui::AboutDialog</name>
    <message>
        <source>the window</source>
        <translation>das Fenster</translation>
    </message>
    <message>
        <source>the database</source>
        <translation>die Datenbank</translation>
    </message>
    <message>
        <source>fast arithmetic</source>
        <translation>schnelles Rechnen</translation>
    </message>
    <message>
        <source>tokens of a text</source>
        <translation>Token eines Textes</translation>
    </message>
    <message>
        <source>exchange of data</source>
        <translation>Datenaustausch</translation>
    </message>
    <message>
        <source>Unicode</source>
        <translation>Unicode</translation>
    </message>
    <message>
        <source>checksums</source>
        <translation>Prüfsummen</translation>
    </message>
    <message>
        <source>compression</source>
        <translation>Komprimierung</translation>
    </message>
    <message>
        <source>Markdown of answers</source>
        <translation>Markdown der Antworten</translation>
    </message>
    <message>
        <source>Works of others that this program uses</source>
        <translation>Werke anderer, die dieses Programm verwendet</translation>
    </message>
    <message>
        <source>Work</source>
        <translation>Werk</translation>
    </message>
    <message>
        <source>Licence</source>
        <translation>Lizenz</translation>
    </message>
    <message>
        <source>Used for</source>
        <translation>Verwendet für</translation>
    </message>
    <message>
        <source>About Palimpsest</source>
        <translation>Info über Palimpsest</translation>
    </message>
    <message>
        <source>Palimpsest %1</source>
        <translation>Palimpsest %1</translation>
    </message>
    <message>
        <source>Reads documents of any length with a language model whose memory never grows past a budget, and shows what of them is still held.</source>
        <translation>Liest Dokumente beliebiger Länge mit einem Sprachmodell, dessen Speicher nie über ein Budget hinauswächst, und zeigt, was davon noch gehalten wird.</translation>
    </message>
    <message>
        <source>A palimpsest is a page whose old writing was scraped off to make room for new writing, and still shows through.</source>
        <translation>Ein Palimpsest ist eine Seite, deren alte Schrift abgeschabt wurde, um Platz für neue zu schaffen, und die noch durchscheint.</translation>
    </message>
    <message>
        <source>Licensed under the Apache License, version 2.0. It comes without any warranty.</source>
        <translation>Lizenziert unter der Apache-Lizenz, Version 2.0. Ohne jede Gewährleistung.</translation>
    </message>
    <message>
        <source>&amp;Program</source>
        <translation>&amp;Programm</translation>
    </message>
    <message>
        <source>Nothing ever leaves this machine. The program has no part that reaches a network: documents, questions and answers are read, computed and kept here, and no one is told that you use it.</source>
        <translation>Nichts verlässt je diesen Rechner. Kein Teil des Programms greift auf ein Netzwerk zu: Dokumente, Fragen und Antworten werden hier gelesen, berechnet und aufbewahrt, und niemand erfährt von der Nutzung.</translation>
    </message>
    <message>
        <source>Answers are shown without loading anything: no pictures, no scripts. A link is opened only if you say so, and you see all of its address first.</source>
        <translation>Antworten werden gezeigt, ohne etwas nachzuladen: keine Bilder, keine Skripte. Ein Link wird erst nach Zustimmung geöffnet, und vorher ist seine ganze Adresse zu sehen.</translation>
    </message>
    <message>
        <source>What is deleted is overwritten, in the backups too. A session that is not saved leaves nothing behind.</source>
        <translation>Was gelöscht wird, wird überschrieben, auch in den Sicherungen. Eine Sitzung, die nicht gespeichert wird, hinterlässt nichts.</translation>
    </message>
    <message>
        <source>P&amp;rivacy</source>
        <translation>&amp;Datenschutz</translation>
    </message>
    <message>
        <source>&amp;Licences</source>
        <translation>&amp;Lizenzen</translation>
    </message>
</context>
<context>
    <name>palimpsest::ui::Actions</name>
    <message>
        <source>&amp;New session</source>
        <translation>&amp;Neue Sitzung</translation>
    </message>
    <message>
        <source>Begin a session without a document</source>
        <translation>Eine Sitzung ohne Dokument beginnen</translation>
    </message>
    <message>
        <source>New session that is not sa&amp;ved</source>
        <translation>Neue Sitzung ohne &amp;Speichern</translation>
    </message>
    <message>
        <source>Begin a session of which nothing is written to the disk</source>
        <translation>Eine Sitzung beginnen, von der nichts auf die Festplatte geschrieben wird</translation>
    </message>
    <message>
        <source>&amp;Open a document…</source>
        <translation>D&amp;okument öffnen…</translation>
    </message>
    <message>
        <source>Read text, Markdown or another document in a new session</source>
        <translation>Text, Markdown oder ein anderes Dokument in einer neuen Sitzung lesen</translation>
    </message>
    <message>
        <source>&amp;Import a session…</source>
        <translation>Sitzung &amp;importieren…</translation>
    </message>
    <message>
        <source>Take in a session that was exported</source>
        <translation>Eine exportierte Sitzung aufnehmen</translation>
    </message>
    <message>
        <source>&amp;Export the session…</source>
        <translation>Sitzung &amp;exportieren…</translation>
    </message>
    <message>
        <source>Write the session, with its text and its saved state, to one file</source>
        <translation>Die Sitzung mit ihrem Text und ihrem gespeicherten Zustand in eine Datei schreiben</translation>
    </message>
    <message>
        <source>&amp;Settings…</source>
        <translation>Eins&amp;tellungen…</translation>
    </message>
    <message>
        <source>Model folder, device, defaults, colours, and what is stored where</source>
        <translation>Modellordner, Gerät, Vorgaben, Farben und was wo gespeichert ist</translation>
    </message>
    <message>
        <source>&amp;Quit</source>
        <translation>&amp;Beenden</translation>
    </message>
    <message>
        <source>Close the window; what was read so far is saved</source>
        <translation>Das Fenster schließen; was bisher gelesen wurde, wird gespeichert</translation>
    </message>
    <message>
        <source>&amp;Ask a question</source>
        <translation>&amp;Frage stellen</translation>
    </message>
    <message>
        <source>Go to the field for questions</source>
        <translation>Zum Eingabefeld für Fragen gehen</translation>
    </message>
    <message>
        <source>&amp;Stop</source>
        <translation>&amp;Stoppen</translation>
    </message>
    <message>
        <source>Stop what runs now; what was read so far is kept</source>
        <translation>Stoppen, was jetzt läuft; was bisher gelesen wurde, bleibt</translation>
    </message>
    <message>
        <source>&amp;Regenerate the answer</source>
        <translation>&amp;Antwort neu erzeugen</translation>
    </message>
    <message>
        <source>Answer the last question again; the earlier answer is kept beside it</source>
        <translation>Die letzte Frage noch einmal beantworten; die frühere Antwort bleibt daneben erhalten</translation>
    </message>
    <message>
        <source>&amp;Take the last question back</source>
        <translation>Letzte Frage &amp;zurücknehmen</translation>
    </message>
    <message>
        <source>Forget the last question and its answer</source>
        <translation>Die letzte Frage und ihre Antwort vergessen</translation>
    </message>
    <message>
        <source>&amp;Go on reading</source>
        <translation>&amp;Weiterlesen</translation>
    </message>
    <message>
        <source>Open the session that is chosen in the library and read on where it stopped</source>
        <translation>Die in der Bibliothek gewählte Sitzung öffnen und dort weiterlesen, wo sie stehen blieb</translation>
    </message>
    <message>
        <source>Re&amp;name</source>
        <translation>&amp;Umbenennen</translation>
    </message>
    <message>
        <source>Give the session in the library another name</source>
        <translation>Der Sitzung in der Bibliothek einen anderen Namen geben</translation>
    </message>
    <message>
        <source>&amp;Duplicate</source>
        <translation>&amp;Duplizieren</translation>
    </message>
    <message>
        <source>Make a second session that goes on from the same point</source>
        <translation>Eine zweite Sitzung anlegen, die an derselben Stelle weitergeht</translation>
    </message>
    <message>
        <source>De&amp;lete</source>
        <translation>Lös&amp;chen</translation>
    </message>
    <message>
        <source>Delete the session that is chosen in the library; it can be undone for some seconds</source>
        <translation>Die in der Bibliothek gewählte Sitzung löschen; einige Sekunden lang lässt sich das rückgängig machen</translation>
    </message>
    <message>
        <source>&amp;Undo the deletion</source>
        <translation>Löschen &amp;rückgängig machen</translation>
    </message>
    <message>
        <source>Bring back the session deleted last</source>
        <translation>Die zuletzt gelöschte Sitzung zurückholen</translation>
    </message>
    <message>
        <source>&amp;Chat</source>
        <translation>&amp;Chat</translation>
    </message>
    <message>
        <source>Questions and answers</source>
        <translation>Fragen und Antworten</translation>
    </message>
    <message>
        <source>&amp;Document</source>
        <translation>&amp;Dokument</translation>
    </message>
    <message>
        <source>The text, shaded by what is still held of it</source>
        <translation>Der Text, danach schattiert, was davon noch gehalten wird</translation>
    </message>
    <message>
        <source>Co&amp;mpare</source>
        <translation>&amp;Vergleich</translation>
    </message>
    <message>
        <source>One document under two to four policies</source>
        <translation>Ein Dokument unter zwei bis vier Policies</translation>
    </message>
    <message>
        <source>&amp;Find in the document</source>
        <translation>Im Dokument &amp;suchen</translation>
    </message>
    <message>
        <source>Look for words in the open document</source>
        <translation>Im offenen Dokument nach Wörtern suchen</translation>
    </message>
    <message>
        <source>&amp;Search the library</source>
        <translation>&amp;Bibliothek durchsuchen</translation>
    </message>
    <message>
        <source>Look for words in all documents and sessions</source>
        <translation>In allen Dokumenten und Sitzungen nach Wörtern suchen</translation>
    </message>
    <message>
        <source>&amp;Larger text</source>
        <translation>&amp;Größerer Text</translation>
    </message>
    <message>
        <source>Make all text larger</source>
        <translation>Allen Text größer machen</translation>
    </message>
    <message>
        <source>Smaller te&amp;xt</source>
        <translation>&amp;Kleinerer Text</translation>
    </message>
    <message>
        <source>Make all text smaller</source>
        <translation>Allen Text kleiner machen</translation>
    </message>
    <message>
        <source>&amp;Usual text size</source>
        <translation>Übliche Te&amp;xtgröße</translation>
    </message>
    <message>
        <source>Text as large as the desktop has it</source>
        <translation>Text so groß, wie der Desktop ihn hat</translation>
    </message>
    <message>
        <source>Full scr&amp;een</source>
        <translation>Vollb&amp;ild</translation>
    </message>
    <message>
        <source>Use the whole screen, or leave it</source>
        <translation>Den ganzen Bildschirm nutzen oder wieder verlassen</translation>
    </message>
    <message>
        <source>&amp;Next area</source>
        <translation>&amp;Nächster Bereich</translation>
    </message>
    <message>
        <source>Go to the next area of the window</source>
        <translation>Zum nächsten Bereich des Fensters gehen</translation>
    </message>
    <message>
        <source>&amp;Previous area</source>
        <translation>V&amp;origer Bereich</translation>
    </message>
    <message>
        <source>Go to the area before</source>
        <translation>Zum Bereich davor gehen</translation>
    </message>
    <message>
        <source>&amp;Reset the layout</source>
        <translation>Anordnung &amp;zurücksetzen</translation>
    </message>
    <message>
        <source>Put all areas where they were at first</source>
        <translation>Alle Bereiche dorthin setzen, wo sie anfangs waren</translation>
    </message>
    <message>
        <source>&amp;Choose a policy</source>
        <translation>Policy &amp;wählen</translation>
    </message>
    <message>
        <source>What decides which tokens are kept, and how many</source>
        <translation>Was entscheidet, welche Token behalten werden und wie viele</translation>
    </message>
    <message>
        <source>Co&amp;mpare policies</source>
        <translation>Policies &amp;vergleichen</translation>
    </message>
    <message>
        <source>Read one document under two to four policies</source>
        <translation>Ein Dokument unter zwei bis vier Policies lesen</translation>
    </message>
    <message>
        <source>&amp;Export the map…</source>
        <translation>&amp;Karte exportieren…</translation>
    </message>
    <message>
        <source>Save the retained-token map as a picture or a table</source>
        <translation>Die Karte der behaltenen Token als Bild oder Tabelle speichern</translation>
    </message>
    <message>
        <source>All &amp;commands…</source>
        <translation>Alle &amp;Befehle…</translation>
    </message>
    <message>
        <source>Find and run any command by its name</source>
        <translation>Jeden Befehl über seinen Namen finden und ausführen</translation>
    </message>
    <message>
        <source>&amp;Keyboard</source>
        <translation>&amp;Tastatur</translation>
    </message>
    <message>
        <source>All keys and what they do</source>
        <translation>Alle Tasten und was sie bewirken</translation>
    </message>
    <message>
        <source>&amp;Tour</source>
        <translation>&amp;Rundgang</translation>
    </message>
    <message>
        <source>See on the sample what the program does</source>
        <translation>Am Beispiel sehen, was das Programm kann</translation>
    </message>
    <message>
        <source>&amp;Privacy</source>
        <translation>&amp;Datenschutz</translation>
    </message>
    <message>
        <source>What is stored, and that nothing leaves this machine</source>
        <translation>Was gespeichert wird, und dass nichts diesen Rechner verlässt</translation>
    </message>
    <message>
        <source>&amp;About Palimpsest</source>
        <translation>&amp;Info über Palimpsest</translation>
    </message>
    <message>
        <source>Version and licences</source>
        <translation>Version und Lizenzen</translation>
    </message>
    <message>
        <source>&amp;File</source>
        <translation>&amp;Datei</translation>
    </message>
    <message>
        <source>&amp;Session</source>
        <translation>&amp;Sitzung</translation>
    </message>
    <message>
        <source>&amp;View</source>
        <translation>&amp;Ansicht</translation>
    </message>
    <message>
        <source>&amp;Policy</source>
        <translation>&amp;Policy</translation>
    </message>
    <message>
        <source>&amp;Help</source>
        <translation>&amp;Hilfe</translation>
    </message>
    <message>
        <source>&amp;Outline</source>
        <translation>Gli&amp;ederung</translation>
    </message>
    <message>
        <source>The sections of the text, with a note on each</source>
        <translation>Die Abschnitte des Textes, mit einer Notiz zu jedem</translation>
    </message>
    <message>
        <source>Add a &amp;folder to the library…</source>
        <translation>Einen Or&amp;dner in die Bibliothek aufnehmen…</translation>
    </message>
    <message>
        <source>Store all documents of a folder, to read and search them later</source>
        <translation>Alle Dokumente eines Ordners speichern, um sie später zu lesen und zu durchsuchen</translation>
    </message>
</context>
<context>
    <name>palimpsest::ui::AreaTabs</name>
    <message>
        <source>Chat</source>
        <translation>Chat</translation>
    </message>
    <message>
        <source>Document</source>
        <translation>Dokument</translation>
    </message>
    <message>
        <source>Compare</source>
        <translation>Vergleich</translation>
    </message>
    <message>
        <source>Chat, document, outline and comparison</source>
        <translation>Chat, Dokument, Gliederung und Vergleich</translation>
    </message>
    <message>
        <source>Outline</source>
        <translation>Gliederung</translation>
    </message>
</context>
<context>
    <name>palimpsest::ui::Areas</name>
    <message>
        <source>%1 % of the answer&apos;s attention to the documents; %2 % of it is still held</source>
        <translation>%1&#xa0;% der Aufmerksamkeit der Antwort für die Dokumente; davon werden %2&#xa0;% noch gehalten</translation>
    </message>
    <message>
        <source>What is this text about?</source>
        <translation>Worum geht es in diesem Text?</translation>
    </message>
    <message>
        <source>Who is named in it?</source>
        <translation>Wer wird darin genannt?</translation>
    </message>
    <message>
        <source>How does it end?</source>
        <translation>Wie endet er?</translation>
    </message>
    <message>
        <source>Pasted text</source>
        <translation>Eingefügter Text</translation>
    </message>
    <message>
        <source>%1 was written.</source>
        <translation>%1 wurde geschrieben.</translation>
    </message>
    <message>
        <source>What the answer rests on has a dotted line beside it. When it was given, %1 of that was still in the cache. This does not say whether the answer is right.</source>
        <translation>Worauf die Antwort beruht, hat eine gepunktete Linie neben sich. Als sie gegeben wurde, waren %1 davon noch im Cache. Ob die Antwort stimmt, sagt das nicht.</translation>
    </message>
    <message>
        <source>%1 % of the answer&apos;s attention to the documents; read again for it</source>
        <translation>%1 % der Aufmerksamkeit der Antwort auf die Dokumente; für sie erneut gelesen</translation>
    </message>
    <message>
        <source>The sentence that supports the answer best</source>
        <translation>Der Satz, der die Antwort am besten stützt</translation>
    </message>
    <message>
        <source>Read again; the answer was written from it</source>
        <translation>Erneut gelesen; die Antwort wurde daraus geschrieben</translation>
    </message>
    <message>
        <source>The answer was written from what has a dotted line beside it, and from nothing else. This does not say whether the answer is right.</source>
        <translation>Die Antwort wurde aus dem geschrieben, was eine gepunktete Linie neben sich hat, und aus nichts anderem. Ob sie richtig ist, sagt das nicht.</translation>
    </message>
</context>
<context>
    <name>palimpsest::ui::Chart</name>
    <message>
        <source>Left and Right read the values, T shows them as a table</source>
        <translation>Pfeil links und rechts lesen die Werte ab, T zeigt sie als Tabelle</translation>
    </message>
    <message>
        <source>%1: %2</source>
        <translation>%1: %2</translation>
    </message>
    <message>
        <source>Show as table (T)</source>
        <translation>Als Tabelle zeigen (T)</translation>
    </message>
</context>
<context>
    <name>palimpsest::ui::ChatPainter</name>
    <message>
        <source>You</source>
        <translation>Sie</translation>
    </message>
    <message>
        <source>Palimpsest is answering…</source>
        <translation>Palimpsest antwortet…</translation>
    </message>
    <message>
        <source>Palimpsest</source>
        <translation>Palimpsest</translation>
    </message>
</context>
<context>
    <name>palimpsest::ui::ChatView</name>
    <message>
        <source>Chat</source>
        <translation>Chat</translation>
    </message>
    <message>
        <source>tokens %1 to %2</source>
        <translation>Token %1 bis %2</translation>
    </message>
    <message>
        <source>%1: %2 of the answer&apos;s attention, %3 of it was still held</source>
        <translation>%1: %2 der Aufmerksamkeit der Antwort, davon waren %3 noch gehalten</translation>
    </message>
    <message>
        <source>%1: %2 of the answer&apos;s attention, read again for it</source>
        <translation>%1: %2 der Aufmerksamkeit der Antwort, für sie erneut gelesen</translation>
    </message>
    <message>
        <source>%1: read again; the answer was written from it</source>
        <translation>%1: erneut gelesen; die Antwort wurde daraus geschrieben</translation>
    </message>
</context>
<context>
    <name>palimpsest::ui::CommandPalette</name>
    <message>
        <source>All commands</source>
        <translation>Alle Befehle</translation>
    </message>
    <message>
        <source>Type some letters of a command</source>
        <translation>Einige Buchstaben eines Befehls eingeben</translation>
    </message>
    <message>
        <source>Command</source>
        <translation>Befehl</translation>
    </message>
    <message>
        <source>Up and Down choose, Enter runs</source>
        <translation>Pfeil auf und ab wählen, Eingabe führt aus</translation>
    </message>
    <message>
        <source>Commands</source>
        <translation>Befehle</translation>
    </message>
    <message>
        <source>%1, %2</source>
        <translation>%1, %2</translation>
    </message>
</context>
<context>
    <name>palimpsest::ui::CompareControl</name>
    <message>
        <source>Comparing policies on %1</source>
        <translation>Policies werden an %1 verglichen</translation>
    </message>
</context>
<context>
    <name>palimpsest::ui::CompareTable</name>
    <message>
        <source>%1 · %2</source>
        <translation>%1 · %2</translation>
    </message>
    <message>
        <source>%1, its capacity</source>
        <translation>%1, seine Kapazität</translation>
    </message>
    <message>
        <source>It keeps every token, and was read only as far as the model&apos;s context.</source>
        <translation>Behält jedes Token und wurde nur bis zur Kontextlänge des Modells gelesen.</translation>
    </message>
    <message>
        <source>Policy</source>
        <translation>Policy</translation>
    </message>
    <message>
        <source>Budget</source>
        <translation>Budget</translation>
    </message>
    <message>
        <source>Perplexity</source>
        <translation>Perplexität</translation>
    </message>
    <message>
        <source>Overlap</source>
        <translation>Überlappung</translation>
    </message>
    <message>
        <source>Speed</source>
        <translation>Tempo</translation>
    </message>
    <message>
        <source>Cache</source>
        <translation>Cache</translation>
    </message>
    <message>
        <source>Full cache</source>
        <translation>Voller Cache</translation>
    </message>
    <message>
        <source>Median age</source>
        <translation>Mittleres Alter</translation>
    </message>
    <message>
        <source>Tokens read</source>
        <translation>Gelesene Token</translation>
    </message>
</context>
<context>
    <name>palimpsest::ui::CompareView</name>
    <message>
        <source>Compare</source>
        <translation>Vergleich</translation>
    </message>
    <message>
        <source>Each policy reads the same text, chunk by chunk in turn, and the curves grow while they do: what each keeps, how well the model still predicts the text, and what that takes.</source>
        <translation>Jede Policy liest denselben Text, Chunk für Chunk im Wechsel, und dabei wachsen die Kurven: was jede behält, wie gut das Modell den Text noch vorhersagt und was das kostet.</translation>
    </message>
    <message>
        <source>Text to read</source>
        <translation>Zu lesender Text</translation>
    </message>
    <message>
        <source>&amp;File…</source>
        <translation>Da&amp;tei…</translation>
    </message>
    <message>
        <source>Read a file instead of the open session&apos;s documents</source>
        <translation>Eine Datei statt der Dokumente der offenen Sitzung lesen</translation>
    </message>
    <message>
        <source>Chunk</source>
        <translation>Chunk</translation>
    </message>
    <message>
        <source>Tokens that are read before each policy decides what leaves</source>
        <translation>Token, die gelesen werden, bevor jede Policy entscheidet, was geht</translation>
    </message>
    <message>
        <source>&amp;Text</source>
        <translation>Te&amp;xt</translation>
    </message>
    <message>
        <source>C&amp;hunk</source>
        <translation>Ch&amp;unk</translation>
    </message>
    <message>
        <source>A&amp;dd a policy</source>
        <translation>Policy hinzu&amp;fügen</translation>
    </message>
    <message>
        <source>&amp;Start</source>
        <translation>Sta&amp;rten</translation>
    </message>
    <message>
        <source>Read the text with all of them (%1)</source>
        <translation>Den Text mit allen lesen (%1)</translation>
    </message>
    <message>
        <source>Sto&amp;p</source>
        <translation>St&amp;oppen</translation>
    </message>
    <message>
        <source>Stop reading (Esc)</source>
        <translation>Lesen stoppen (Esc)</translation>
    </message>
    <message>
        <source>Progress of the comparison</source>
        <translation>Fortschritt des Vergleichs</translation>
    </message>
    <message>
        <source>Policy %1</source>
        <translation>Policy %1</translation>
    </message>
    <message>
        <source>A name, or with parameters: name:key=value,key=value</source>
        <translation>Ein Name, auch mit Parametern: Name:Schlüssel=Wert,Schlüssel=Wert</translation>
    </message>
    <message>
        <source>Budget %1</source>
        <translation>Budget %1</translation>
    </message>
    <message>
        <source>budget: the default</source>
        <translation>Budget: die Vorgabe</translation>
    </message>
    <message>
        <source>Tokens kept per layer and head (2048), memory (512MiB), a share (25%), auto, none</source>
        <translation>Behaltene Token je Schicht und Kopf (2048), Speicher (512MiB), ein Anteil (25%), auto, none</translation>
    </message>
    <message>
        <source>Remove</source>
        <translation>Entfernen</translation>
    </message>
    <message>
        <source>Remove policy %1</source>
        <translation>Policy %1 entfernen</translation>
    </message>
    <message>
        <source>Tokens read</source>
        <translation>Gelesene Token</translation>
    </message>
    <message>
        <source>Perplexity over the tokens read</source>
        <translation>Perplexität über den gelesenen Token</translation>
    </message>
    <message>
        <source>Perplexity so far, lower is better</source>
        <translation>Perplexität bisher, niedriger ist besser</translation>
    </message>
    <message>
        <source>Overlap over the tokens read</source>
        <translation>Überlappung über den gelesenen Token</translation>
    </message>
    <message>
        <source>Overlap with what the first keeps</source>
        <translation>Überlappung mit dem, was die erste behält</translation>
    </message>
    <message>
        <source>Results</source>
        <translation>Ergebnisse</translation>
    </message>
    <message>
        <source>&amp;Copy as CSV</source>
        <translation>Als &amp;CSV kopieren</translation>
    </message>
    <message>
        <source>&amp;Export as JSON…</source>
        <translation>Als &amp;JSON exportieren…</translation>
    </message>
    <message>
        <source>Open session: %1, %2 tokens</source>
        <translation>Offene Sitzung: %1, %2 Token</translation>
    </message>
    <message>
        <source>No session is open: choose a file</source>
        <translation>Keine Sitzung ist offen: Datei wählen</translation>
    </message>
    <message>
        <source>File: %1</source>
        <translation>Datei: %1</translation>
    </message>
    <message>
        <source>A text to compare on</source>
        <translation>Ein Text für den Vergleich</translation>
    </message>
    <message>
        <source>There is no text to read: open a session with a document, or choose a file.</source>
        <translation>Es gibt keinen Text zu lesen: Eine Sitzung mit Dokument öffnen oder eine Datei wählen.</translation>
    </message>
    <message>
        <source>A policy or a budget is not possible: see the sentence beside it.</source>
        <translation>Eine Policy oder ein Budget ist nicht möglich: siehe den Satz daneben.</translation>
    </message>
    <message>
        <source>waits for its turn</source>
        <translation>wartet, bis sie an der Reihe ist</translation>
    </message>
    <message>
        <source>stopped at %1</source>
        <translation>bei %1 gestoppt</translation>
    </message>
    <message>
        <source>Tokens kept by %1</source>
        <translation>Von %1 behaltene Token</translation>
    </message>
    <message>
        <source>%1, %2 left</source>
        <translation>%1, noch %2</translation>
    </message>
    <message>
        <source>comparison</source>
        <translation>vergleich</translation>
    </message>
    <message>
        <source>Export the comparison</source>
        <translation>Vergleich exportieren</translation>
    </message>
    <message>
        <source>JSON (*.json)</source>
        <translation>JSON (*.json)</translation>
    </message>
    <message>
        <source>Curves and results</source>
        <translation>Kurven und Ergebnisse</translation>
    </message>
    <message>
        <source>C&amp;urves</source>
        <translation>Kurv&amp;en</translation>
    </message>
    <message>
        <source>&amp;Results</source>
        <translation>Er&amp;gebnisse</translation>
    </message>
    <message>
        <source>It keeps every token, and will read only the first %1 of the text.</source>
        <translation>Sie behält jedes Token und wird nur die ersten %1 des Textes lesen.</translation>
    </message>
</context>
<context>
    <name>palimpsest::ui::Composer</name>
    <message>
        <source>Stop</source>
        <translation>Stoppen</translation>
    </message>
    <message>
        <source>Send</source>
        <translation>Senden</translation>
    </message>
    <message>
        <source>Stop what is running (Esc)</source>
        <translation>Stoppen, was gerade läuft (Esc)</translation>
    </message>
    <message>
        <source>Send the question (Enter; Shift+Enter starts a new line)</source>
        <translation>Frage senden (Eingabe; Umschalt+Eingabe beginnt eine neue Zeile)</translation>
    </message>
    <message>
        <source>Send the question (Ctrl+Enter)</source>
        <translation>Frage senden (Strg+Eingabe)</translation>
    </message>
    <message>
        <source>Waits its turn: %1</source>
        <translation>Wartet: %1</translation>
    </message>
    <message>
        <source>Take back the question that waits</source>
        <translation>Die wartende Frage zurücknehmen</translation>
    </message>
    <message numerus="yes">
        <source>and %n more</source>
        <translation>
            <numerusform>und %n weitere</numerusform>
            <numerusform>und %n weitere</numerusform>
        </translation>
    </message>
    <message>
        <source>Asked anew in a branch; the chat so far stays as it is</source>
        <translation>Wird in einem Zweig neu gestellt; der bisherige Chat bleibt, wie er ist</translation>
    </message>
    <message>
        <source>Leave the question as it was</source>
        <translation>Frage lassen, wie sie war</translation>
    </message>
    <message>
        <source>From the %1 read so far: %2</source>
        <translation>Aus den bisher gelesenen %1: %2</translation>
    </message>
    <message>
        <source>The document says: “%1” (%2)</source>
        <translation>Im Dokument steht: „%1“ (%2)</translation>
    </message>
</context>
<context>
    <name>palimpsest::ui::CopyBar</name>
    <message>
        <source>Copying the passage</source>
        <translation>Die Stelle wird kopiert</translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>Abbrechen</translation>
    </message>
    <message>
        <source>Cancel copying</source>
        <translation>Kopieren abbrechen</translation>
    </message>
</context>
<context>
    <name>palimpsest::ui::DamageQuestion</name>
    <message>
        <source>&amp;Restore a backup</source>
        <translation>Eine &amp;Sicherung wiederherstellen</translation>
    </message>
    <message>
        <source>Re&amp;scue what can be read</source>
        <translation>&amp;Retten, was lesbar ist</translation>
    </message>
    <message>
        <source>&amp;Quit</source>
        <translation>&amp;Beenden</translation>
    </message>
    <message>
        <source>Start &amp;Palimpsest</source>
        <translation>&amp;Palimpsest starten</translation>
    </message>
    <message>
        <source>The sessions are damaged</source>
        <translation>Die Sitzungen sind beschädigt</translation>
    </message>
    <message>
        <source>The file with your sessions is damaged. It is not changed: whatever you choose, it is kept under another name beside the new one.</source>
        <translation>Die Datei mit Ihren Sitzungen ist beschädigt. Sie wird nicht verändert: Was Sie auch wählen, sie bleibt unter einem anderen Namen neben der neuen erhalten.</translation>
    </message>
    <message>
        <source>Looking for a backup…</source>
        <translation>Eine Sicherung wird gesucht…</translation>
    </message>
    <message>
        <source>Counting what can be read…</source>
        <translation>Was lesbar ist, wird gezählt…</translation>
    </message>
    <message>
        <source>What is lost</source>
        <translation>Was verloren ist</translation>
    </message>
    <message>
        <source>&amp;Restore the backup of %1</source>
        <translation>Die &amp;Sicherung vom %1 wiederherstellen</translation>
    </message>
    <message numerus="yes">
        <source>It has %n session(s). They are read again when they are opened; what came after the backup is only in the damaged file.</source>
        <translation>
            <numerusform>Sie hat %n Sitzung, die beim Öffnen neu gelesen wird; was nach der Sicherung kam, ist nur in der beschädigten Datei.</numerusform>
            <numerusform>Sie hat %n Sitzungen, die beim Öffnen neu gelesen werden; was nach der Sicherung kam, ist nur in der beschädigten Datei.</numerusform>
        </translation>
    </message>
    <message>
        <source>There is no backup that can be used.</source>
        <translation>Es gibt keine Sicherung, die verwendet werden kann.</translation>
    </message>
    <message>
        <source>%1, %2 and %3 can be read.</source>
        <translation>%1, %2 und %3 sind lesbar.</translation>
    </message>
    <message numerus="yes">
        <source>%n session(s)</source>
        <translation>
            <numerusform>%n Sitzung</numerusform>
            <numerusform>%n Sitzungen</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n document(s)</source>
        <translation>
            <numerusform>%n Dokument</numerusform>
            <numerusform>%n Dokumente</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n message(s)</source>
        <translation>
            <numerusform>%n Nachricht</numerusform>
            <numerusform>%n Nachrichten</numerusform>
        </translation>
    </message>
    <message>
        <source>Nothing is lost.</source>
        <translation>Nichts ist verloren.</translation>
    </message>
    <message numerus="yes">
        <source>%n part(s) are lost, and named afterwards.</source>
        <translation>
            <numerusform>%n Teil ist verloren und wird danach genannt.</numerusform>
            <numerusform>%n Teile sind verloren und werden danach genannt.</numerusform>
        </translation>
    </message>
    <message>
        <source>The backup is restored…</source>
        <translation>Die Sicherung wird wiederhergestellt…</translation>
    </message>
    <message>
        <source>What can be read is rescued…</source>
        <translation>Was lesbar ist, wird gerettet…</translation>
    </message>
    <message>
        <source>The program can start. The damaged file is kept as %1.</source>
        <translation>Das Programm kann starten. Die beschädigte Datei bleibt als %1 erhalten.</translation>
    </message>
    <message>
        <source>&amp;Cancel</source>
        <translation>&amp;Abbrechen</translation>
    </message>
    <message>
        <source>Progress</source>
        <translation>Fortschritt</translation>
    </message>
    <message>
        <source>The program can start. The damaged file is kept as %1. What is lost is listed here, and in %2.</source>
        <translation>Das Programm kann starten. Die beschädigte Datei bleibt als %1 erhalten. Was verloren ist, steht hier und in %2.</translation>
    </message>
    <message>
        <source>The program can start: another program has replaced the damaged file meanwhile, so it was not replaced again.</source>
        <translation>Das Programm kann starten: Ein anderes hat die beschädigte Datei inzwischen ersetzt, deshalb wurde sie nicht noch einmal ersetzt.</translation>
    </message>
</context>
<context>
    <name>palimpsest::ui::DeviceChoice</name>
    <message>
        <source>Best device</source>
        <translation>Bestes Gerät</translation>
    </message>
    <message>
        <source>Processor</source>
        <translation>Prozessor</translation>
    </message>
    <message>
        <source>Graphics card</source>
        <translation>Grafikkarte</translation>
    </message>
</context>
<context>
    <name>palimpsest::ui::DocumentPage</name>
    <message>
        <source>Legend: the shade of a token says how many layers and heads hold it</source>
        <translation>Legende: Die Schattierung eines Tokens sagt, wie viele Schichten und Köpfe es halten</translation>
    </message>
    <message>
        <source>How many layers and heads still hold a token</source>
        <translation>Wie viele Schichten und Köpfe ein Token noch halten</translation>
    </message>
    <message>
        <source>none</source>
        <translation>keine</translation>
    </message>
    <message>
        <source>all</source>
        <translation>alle</translation>
    </message>
    <message>
        <source>Copy</source>
        <translation>Kopieren</translation>
    </message>
    <message>
        <source>Pin this passage</source>
        <translation>Diese Stelle anheften</translation>
    </message>
    <message>
        <source>Ctrl+Shift+P</source>
        <translation>Ctrl+Shift+P</translation>
    </message>
    <message>
        <source>Unpin</source>
        <translation>Lösen</translation>
    </message>
    <message>
        <source>Ctrl+Shift+U</source>
        <translation>Ctrl+Shift+U</translation>
    </message>
    <message>
        <source>Find…</source>
        <translation>Suchen…</translation>
    </message>
    <message>
        <source>Find next</source>
        <translation>Weitersuchen</translation>
    </message>
    <message>
        <source>Find previous</source>
        <translation>Rückwärts suchen</translation>
    </message>
    <message>
        <source>Go to…</source>
        <translation>Gehe zu…</translation>
    </message>
    <message>
        <source>Ctrl+J</source>
        <translation>Ctrl+J</translation>
    </message>
    <message>
        <source>Shade</source>
        <translation>Schattieren</translation>
    </message>
    <message>
        <source>Underline</source>
        <translation>Unterstreichen</translation>
    </message>
    <message>
        <source>Shade each token by how much of it is still held</source>
        <translation>Jedes Token danach schattieren, wie viel davon noch gehalten wird</translation>
    </message>
    <message>
        <source>Underline each token, thicker the more of it is still held</source>
        <translation>Jedes Token unterstreichen, umso dicker, je mehr davon noch gehalten wird</translation>
    </message>
    <message>
        <source>Chapter</source>
        <translation>Kapitel</translation>
    </message>
    <message>
        <source>What pinning would cost</source>
        <translation>Was das Anheften kosten würde</translation>
    </message>
    <message>
        <source>No policy may evict a pinned passage (%1)</source>
        <translation>Keine Policy darf eine angeheftete Stelle verdrängen (%1)</translation>
    </message>
    <message numerus="yes">
        <source>%n token(s)</source>
        <translation>
            <numerusform>%n Token</numerusform>
            <numerusform>%n Token</numerusform>
        </translation>
    </message>
    <message>
        <source>%1: %2 % of the budget, %3</source>
        <translation>%1: %2&#xa0;% des Budgets, %3</translation>
    </message>
    <message>
        <source>%1; %2 % of it are still held</source>
        <translation>%1; davon werden %2&#xa0;% noch gehalten</translation>
    </message>
    <message>
        <source>%1. This is more than the budget: choose a shorter passage</source>
        <translation>%1. Das ist mehr als das Budget: bitte eine kürzere Stelle wählen</translation>
    </message>
    <message>
        <source>Unpin “%1”</source>
        <translation>„%1“ lösen</translation>
    </message>
    <message>
        <source>tokens %1 to %2</source>
        <translation>Token %1 bis %2</translation>
    </message>
    <message>
        <source>What the dotted line marks</source>
        <translation>Was die gepunktete Linie markiert</translation>
    </message>
</context>
<context>
    <name>palimpsest::ui::DocumentPainter</name>
    <message>
        <source>Nothing has been read yet.
Open a document to see here how it is remembered.</source>
        <translation>Noch wurde nichts gelesen.
Sobald ein Dokument geöffnet ist, zeigt sich hier, wie es erinnert wird.</translation>
    </message>
    <message numerus="yes">
        <source>%n token(s) of framing</source>
        <translation>
            <numerusform>%n Token Rahmen</numerusform>
            <numerusform>%n Token Rahmen</numerusform>
        </translation>
    </message>
    <message>
        <source>You</source>
        <translation>Sie</translation>
    </message>
    <message>
        <source>Palimpsest</source>
        <translation>Palimpsest</translation>
    </message>
</context>
<context>
    <name>palimpsest::ui::DocumentView</name>
    <message>
        <source>Token %1</source>
        <translation>Token %1</translation>
    </message>
    <message>
        <source>Token %1: %2</source>
        <translation>Token %1: %2</translation>
    </message>
    <message>
        <source>pinned</source>
        <translation>angeheftet</translation>
    </message>
    <message>
        <source>Document</source>
        <translation>Dokument</translation>
    </message>
    <message>
        <source>The text as it was read, shaded by how much of it is still held</source>
        <translation>Der Text, wie er gelesen wurde, danach schattiert, wie viel davon noch gehalten wird</translation>
    </message>
    <message>
        <source>Place in the document</source>
        <translation>Stelle im Dokument</translation>
    </message>
</context>
<context>
    <name>palimpsest::ui::EmptyChat</name>
    <message>
        <source>Start</source>
        <translation>Start</translation>
    </message>
    <message>
        <source>Chat over a whole book</source>
        <translation>Chat über ein ganzes Buch</translation>
    </message>
    <message>
        <source>Ask about “%1”</source>
        <translation>Fragen zu „%1“</translation>
    </message>
    <message>
        <source>Palimpsest reads a document of any length from the first word to the last, keeps within the memory you give it, and shows what it still remembers. Nothing leaves this machine.</source>
        <translation>Palimpsest liest ein Dokument beliebiger Länge vom ersten bis zum letzten Wort, bleibt innerhalb des zugestandenen Speichers und zeigt, woran es sich noch erinnert. Nichts verlässt diesen Rechner.</translation>
    </message>
    <message>
        <source>&amp;Open a document…</source>
        <translation>Dokument ö&amp;ffnen…</translation>
    </message>
    <message>
        <source>&amp;Open another document…</source>
        <translation>Weiteres Dokument ö&amp;ffnen…</translation>
    </message>
    <message>
        <source>&amp;Read the sample</source>
        <translation>Beispiel &amp;lesen</translation>
    </message>
    <message>
        <source>Try a question:</source>
        <translation>Eine Frage zum Ausprobieren:</translation>
    </message>
    <message>
        <source>Open a document</source>
        <translation>Dokument öffnen</translation>
    </message>
    <message>
        <source>Read the sample</source>
        <translation>Beispiel lesen</translation>
    </message>
    <message>
        <source>You could ask:</source>
        <translation>Mögliche Fragen:</translation>
    </message>
    <message>
        <source>It is read from the first word to the last. You can ask while it is being read: questions are answered from what was read so far, and again at the end.</source>
        <translation>Er wird vom ersten bis zum letzten Wort gelesen. Sie können schon dabei fragen: Fragen werden aus dem bisher Gelesenen beantwortet, und am Ende noch einmal.</translation>
    </message>
</context>
<context>
    <name>palimpsest::ui::EngineThread</name>
    <message>
        <source>%1, chat %2</source>
        <translation>%1, Chat %2</translation>
    </message>
    <message>
        <source>“%1” was exported to %2.</source>
        <translation>„%1“ wurde nach %2 exportiert.</translation>
    </message>
    <message>
        <source>“%1” is in the library now.</source>
        <translation>„%1“ ist jetzt in der Bibliothek.</translation>
    </message>
    <message>
        <source>What was said last is not saved, and stays open here: %1</source>
        <translation>Das zuletzt Gesagte ist nicht gespeichert und bleibt hier offen: %1</translation>
    </message>
    <message numerus="yes">
        <source>%n document(s) were added to the library.</source>
        <translation>
            <numerusform>%n Dokument wurde in die Bibliothek aufgenommen.</numerusform>
            <numerusform>%n Dokumente wurden in die Bibliothek aufgenommen.</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n were there before.</source>
        <translation>
            <numerusform>%n war schon da.</numerusform>
            <numerusform>%n waren schon da.</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n could not be read, the first because: %1</source>
        <translation>
            <numerusform>%n konnte nicht gelesen werden, weil: %1</numerusform>
            <numerusform>%n konnten nicht gelesen werden, das erste, weil: %1</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n other file(s) in the folders were left out.</source>
        <translation>
            <numerusform>%n andere Datei in den Ordnern wurde ausgelassen.</numerusform>
            <numerusform>%n andere Dateien in den Ordnern wurden ausgelassen.</numerusform>
        </translation>
    </message>
    <message>
        <source>%1 cannot be read.</source>
        <translation>%1 kann nicht gelesen werden.</translation>
    </message>
</context>
<context>
    <name>palimpsest::ui::FileDialogs</name>
    <message>
        <source>Documents (%1)</source>
        <translation>Dokumente (%1)</translation>
    </message>
    <message>
        <source>All files (*)</source>
        <translation>Alle Dateien (*)</translation>
    </message>
    <message>
        <source>Open documents</source>
        <translation>Dokumente öffnen</translation>
    </message>
    <message>
        <source>Choose a model</source>
        <translation>Modell wählen</translation>
    </message>
    <message>
        <source>Models (*.gguf config.json)</source>
        <translation>Modelle (*.gguf config.json)</translation>
    </message>
    <message>
        <source>Import a session</source>
        <translation>Sitzung importieren</translation>
    </message>
    <message>
        <source>Exported sessions (*.palimpsest);;All files (*)</source>
        <translation>Exportierte Sitzungen (*.palimpsest);;Alle Dateien (*)</translation>
    </message>
    <message>
        <source>Export “%1”</source>
        <translation>„%1“ exportieren</translation>
    </message>
    <message>
        <source>Exported sessions (*.palimpsest)</source>
        <translation>Exportierte Sitzungen (*.palimpsest)</translation>
    </message>
    <message>
        <source>Add a folder to the library</source>
        <translation>Einen Ordner in die Bibliothek aufnehmen</translation>
    </message>
    <message>
        <source>Transcripts as web pages (*.html)</source>
        <translation>Mitschriften als Webseiten (*.html)</translation>
    </message>
    <message>
        <source>Transcripts in Markdown (*.md)</source>
        <translation>Mitschriften in Markdown (*.md)</translation>
    </message>
    <message>
        <source>Transcripts in JSON (*.json)</source>
        <translation>Mitschriften in JSON (*.json)</translation>
    </message>
</context>
<context>
    <name>palimpsest::ui::FindBar</name>
    <message>
        <source>Find in the text</source>
        <translation>Im Text suchen</translation>
    </message>
    <message>
        <source>Matches</source>
        <translation>Treffer</translation>
    </message>
    <message>
        <source>Previous match</source>
        <translation>Voriger Treffer</translation>
    </message>
    <message>
        <source>Previous match (Shift+Enter)</source>
        <translation>Voriger Treffer (Umschalt+Eingabe)</translation>
    </message>
    <message>
        <source>Next match</source>
        <translation>Nächster Treffer</translation>
    </message>
    <message>
        <source>Next match (Enter)</source>
        <translation>Nächster Treffer (Eingabe)</translation>
    </message>
    <message>
        <source>Close the search</source>
        <translation>Suche schließen</translation>
    </message>
    <message>
        <source>Close the search (Esc)</source>
        <translation>Suche schließen (Esc)</translation>
    </message>
    <message>
        <source>%1 of %2</source>
        <translation>%1 von %2</translation>
    </message>
    <message numerus="yes">
        <source>%n match(es)</source>
        <translation>
            <numerusform>%n Treffer</numerusform>
            <numerusform>%n Treffer</numerusform>
        </translation>
    </message>
    <message>
        <source>not found</source>
        <translation>nicht gefunden</translation>
    </message>
    <message>
        <source>, %1 % looked through</source>
        <translation>, %1&#xa0;% durchsucht</translation>
    </message>
    <message>
        <source>, a part of the text cannot be read</source>
        <translation>, ein Teil des Textes ist nicht lesbar</translation>
    </message>
</context>
<context>
    <name>palimpsest::ui::GoToDialog</name>
    <message>
        <source>(no title)</source>
        <translation>(ohne Titel)</translation>
    </message>
    <message>
        <source>from token %1</source>
        <translation>ab Token %1</translation>
    </message>
    <message>
        <source>Go to</source>
        <translation>Gehe zu</translation>
    </message>
    <message>
        <source>Chapter, or number of a token up to %1</source>
        <translation>Kapitel oder Nummer eines Tokens bis %1</translation>
    </message>
    <message>
        <source>Chapter or token</source>
        <translation>Kapitel oder Token</translation>
    </message>
    <message>
        <source>Chapters</source>
        <translation>Kapitel</translation>
    </message>
</context>
<context>
    <name>palimpsest::ui::HitsPanel</name>
    <message numerus="yes">
        <source>%n message(s)</source>
        <translation>
            <numerusform>%n Nachricht</numerusform>
            <numerusform>%n Nachrichten</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>the first %n message(s)</source>
        <translation>
            <numerusform>die erste Nachricht (%n)</numerusform>
            <numerusform>die ersten %n Nachrichten</numerusform>
        </translation>
    </message>
    <message>
        <source>%1 of %2 passages</source>
        <translation>%1 von %2 Stellen</translation>
    </message>
    <message numerus="yes">
        <source>%n passage(s)</source>
        <translation>
            <numerusform>%n Stelle</numerusform>
            <numerusform>%n Stellen</numerusform>
        </translation>
    </message>
    <message>
        <source>%1 of %2 sessions searched …</source>
        <translation>%1 von %2 Sitzungen durchsucht …</translation>
    </message>
    <message>
        <source>Nothing was found.</source>
        <translation>Nichts wurde gefunden.</translation>
    </message>
    <message>
        <source>Found: %1.</source>
        <translation>Gefunden: %1.</translation>
    </message>
    <message>
        <source>No passage has all of these words; these have some of them.</source>
        <translation>Keine Stelle enthält alle diese Wörter; diese enthalten einige davon.</translation>
    </message>
    <message numerus="yes">
        <source>%n damaged session(s) left out.</source>
        <translation>
            <numerusform>%n beschädigte Sitzung ausgelassen.</numerusform>
            <numerusform>%n beschädigte Sitzungen ausgelassen.</numerusform>
        </translation>
    </message>
    <message>
        <source>Index them</source>
        <translation>Indizieren</translation>
    </message>
    <message>
        <source>Found in texts</source>
        <translation>In Texten gefunden</translation>
    </message>
    <message>
        <source>Index the documents that are not indexed yet</source>
        <translation>Die noch nicht indizierten Dokumente indizieren</translation>
    </message>
    <message>
        <source>Searching what was read and said …</source>
        <translation>Gelesenes und Gesagtes wird durchsucht …</translation>
    </message>
    <message numerus="yes">
        <source>%n document(s) are not indexed yet. Their passages are not found.</source>
        <translation>
            <numerusform>%n Dokument ist noch nicht indiziert. Seine Stellen werden nicht gefunden.</numerusform>
            <numerusform>%n Dokumente sind noch nicht indiziert. Ihre Stellen werden nicht gefunden.</numerusform>
        </translation>
    </message>
    <message>
        <source>The texts could not be searched.</source>
        <translation>Die Texte konnten nicht durchsucht werden.</translation>
    </message>
</context>
<context>
    <name>palimpsest::ui::HotAreas</name>
    <message>
        <source>%1/%2</source>
        <translation>%1/%2</translation>
    </message>
    <message>
        <source>Rests on</source>
        <translation>Beruht auf</translation>
    </message>
</context>
<context>
    <name>palimpsest::ui::Instructions</name>
    <message>
        <source>Instructions</source>
        <translation>Anweisungen</translation>
    </message>
    <message>
        <source>Instructions for the model</source>
        <translation>Anweisungen an das Modell</translation>
    </message>
    <message>
        <source>How the model is to answer in this session (its system prompt)</source>
        <translation>Wie das Modell in dieser Sitzung antworten soll (ihr System-Prompt)</translation>
    </message>
    <message>
        <source>None. For example: Answer in one sentence, in English.</source>
        <translation>Keine. Zum Beispiel: Antworte in einem Satz, auf Deutsch.</translation>
    </message>
    <message>
        <source>The next session begins with these instructions. They can be changed until the session reads its first text.</source>
        <translation>Die nächste Sitzung beginnt mit diesen Anweisungen. Sie lassen sich ändern, bis die Sitzung ihren ersten Text liest.</translation>
    </message>
    <message>
        <source>They can be changed until this session reads its first text.</source>
        <translation>Sie lassen sich ändern, bis die Sitzung ihren ersten Text liest.</translation>
    </message>
    <message>
        <source>They cannot be changed: the model read them at the start of this session, and all that it keeps was computed after them. A new session can have others.</source>
        <translation>Sie lassen sich nicht ändern: Das Modell hat sie am Anfang dieser Sitzung gelesen, und alles, was es behält, wurde nach ihnen berechnet. Eine neue Sitzung kann andere haben.</translation>
    </message>
    <message>
        <source>The loaded model has no place of its own for instructions: they are put before the first text of the conversation.</source>
        <translation>Das geladene Modell hat keinen eigenen Platz für Anweisungen: Sie werden dem ersten Text des Gesprächs vorangestellt.</translation>
    </message>
    <message>
        <source>none</source>
        <translation>keine</translation>
    </message>
</context>
<context>
    <name>palimpsest::ui::JumpButton</name>
    <message>
        <source>Jump to the end</source>
        <translation>Zum Ende springen</translation>
    </message>
    <message>
        <source>Jump to the end, and follow it (End)</source>
        <translation>Zum Ende springen und dort bleiben (Ende)</translation>
    </message>
</context>
<context>
    <name>palimpsest::ui::KeyboardHelp</name>
    <message>
        <source>Keyboard</source>
        <translation>Tastatur</translation>
    </message>
    <message>
        <source>Search</source>
        <translation>Suchen</translation>
    </message>
    <message>
        <source>Search for a command or a key</source>
        <translation>Nach einem Befehl oder einer Taste suchen</translation>
    </message>
    <message>
        <source>Commands and their keys</source>
        <translation>Befehle und ihre Tasten</translation>
    </message>
    <message>
        <source>Command</source>
        <translation>Befehl</translation>
    </message>
    <message>
        <source>Key</source>
        <translation>Taste</translation>
    </message>
    <message>
        <source>What it does</source>
        <translation>Was er bewirkt</translation>
    </message>
</context>
<context>
    <name>palimpsest::ui::LeaveQuestion</name>
    <message>
        <source>Close Palimpsest</source>
        <translation>Palimpsest schließen</translation>
    </message>
    <message>
        <source>Close without saving</source>
        <translation>Schließen ohne zu speichern</translation>
    </message>
</context>
<context>
    <name>palimpsest::ui::LibraryModel</name>
    <message>
        <source>yesterday</source>
        <translation>gestern</translation>
    </message>
    <message numerus="yes">
        <source>%n session(s)</source>
        <translation>
            <numerusform>%n Sitzung</numerusform>
            <numerusform>%n Sitzungen</numerusform>
        </translation>
    </message>
    <message>
        <source>%1 tokens · %2</source>
        <translation>%1 Token · %2</translation>
    </message>
    <message>
        <source>open, working</source>
        <translation>offen, in Arbeit</translation>
    </message>
    <message>
        <source>open · %1</source>
        <translation>offen · %1</translation>
    </message>
    <message>
        <source>is read when opened · %1</source>
        <translation>wird beim Öffnen gelesen · %1</translation>
    </message>
    <message>
        <source>stopped at %1 %, goes on when opened · %2</source>
        <translation>bei %1&#xa0;% unterbrochen, geht beim Öffnen weiter · %2</translation>
    </message>
    <message>
        <source>Without a document</source>
        <translation>Ohne Dokument</translation>
    </message>
    <message>
        <source>%1, %2</source>
        <translation>%1, %2</translation>
    </message>
    <message>
        <source>not read yet</source>
        <translation>noch nicht gelesen</translation>
    </message>
</context>
<context>
    <name>palimpsest::ui::LibraryView</name>
    <message>
        <source>Library</source>
        <translation>Bibliothek</translation>
    </message>
    <message>
        <source>Documents and sessions</source>
        <translation>Dokumente und Sitzungen</translation>
    </message>
    <message>
        <source>Nothing has been read yet. Drop a document here, or open one: it is read once, and can be asked about from then on.</source>
        <translation>Noch wurde nichts gelesen. Ein Dokument hier ablegen oder öffnen: Es wird einmal gelesen und kann von da an befragt werden.</translation>
    </message>
    <message>
        <source>Open a document…</source>
        <translation>Dokument öffnen…</translation>
    </message>
    <message>
        <source>Go on</source>
        <translation>Weiterlesen</translation>
    </message>
    <message>
        <source>Undo</source>
        <translation>Rückgängig</translation>
    </message>
    <message>
        <source>Undo the deletion</source>
        <translation>Löschen rückgängig machen</translation>
    </message>
    <message>
        <source>Delete</source>
        <translation>Löschen</translation>
    </message>
    <message>
        <source>“%1” was not read to its end.</source>
        <translation>„%1“ wurde nicht zu Ende gelesen.</translation>
    </message>
    <message>
        <source>Go on with %1</source>
        <translation>%1 weiterlesen</translation>
    </message>
    <message>
        <source>“%1” was deleted.</source>
        <translation>„%1“ wurde gelöscht.</translation>
    </message>
    <message>
        <source>&amp;Go on reading</source>
        <translation>&amp;Weiterlesen</translation>
    </message>
    <message>
        <source>&amp;Open</source>
        <translation>Ö&amp;ffnen</translation>
    </message>
    <message>
        <source>&amp;Rename</source>
        <translation>&amp;Umbenennen</translation>
    </message>
    <message>
        <source>&amp;Duplicate</source>
        <translation>&amp;Duplizieren</translation>
    </message>
    <message>
        <source>&amp;Export…</source>
        <translation>&amp;Exportieren…</translation>
    </message>
    <message>
        <source>D&amp;elete</source>
        <translation>Lös&amp;chen</translation>
    </message>
    <message>
        <source>&amp;New session about this document</source>
        <translation>&amp;Neue Sitzung zu diesem Dokument</translation>
    </message>
    <message>
        <source>&amp;Open a document…</source>
        <translation>Dokument ö&amp;ffnen…</translation>
    </message>
    <message>
        <source>&amp;Import a session…</source>
        <translation>Sitzung &amp;importieren…</translation>
    </message>
    <message>
        <source>&amp;Keep in the library</source>
        <translation>In der &amp;Bibliothek behalten</translation>
    </message>
    <message>
        <source>D&amp;elete…</source>
        <translation>&amp;Löschen…</translation>
    </message>
    <message>
        <source>Do not &amp;keep without a session</source>
        <translation>Ohne Sitzung nicht &amp;behalten</translation>
    </message>
    <message>
        <source>Delete a document</source>
        <translation>Ein Dokument löschen</translation>
    </message>
    <message>
        <source>Delete “%1” for good?</source>
        <translation>„%1“ endgültig löschen?</translation>
    </message>
    <message>
        <source>Its stored text goes, and all backups of the sessions are made anew without it. The file that it was read from stays.</source>
        <translation>Sein gespeicherter Text verschwindet, und alle Sicherungen der Sitzungen werden ohne ihn neu angelegt. Die Datei, aus der er gelesen wurde, bleibt.</translation>
    </message>
</context>
<context>
    <name>palimpsest::ui::LinkQuestion</name>
    <message>
        <source>Open this address in your browser? It was written by the model, not by a person.</source>
        <translation>Diese Adresse im Browser öffnen? Das Modell hat sie geschrieben, kein Mensch.</translation>
    </message>
    <message>
        <source>Open in browser</source>
        <translation>Im Browser öffnen</translation>
    </message>
    <message>
        <source>This is not a web address, and it is not opened.</source>
        <translation>Dies ist keine Webadresse; sie wird nicht geöffnet.</translation>
    </message>
</context>
<context>
    <name>palimpsest::ui::MainWindow</name>
    <message>
        <source>Palimpsest</source>
        <translation>Palimpsest</translation>
    </message>
    <message>
        <source>Palimpsest — %1[*]</source>
        <translation>Palimpsest — %1[*]</translation>
    </message>
    <message>
        <source>Palimpsest — %1 (not saved)[*]</source>
        <translation>Palimpsest — %1 (nicht gespeichert)[*]</translation>
    </message>
    <message>
        <source>The models of %1 are offered in the tool bar now.</source>
        <translation>Die Modelle aus %1 stehen jetzt in der Werkzeugleiste.</translation>
    </message>
    <message>
        <source>%1 (copy)</source>
        <translation>%1 (Kopie)</translation>
    </message>
    <message>
        <source>%1 (copy %2)</source>
        <translation>%1 (Kopie %2)</translation>
    </message>
    <message>
        <source>This model is the default now, also for the command.</source>
        <translation>Dieses Modell ist jetzt die Vorgabe, auch für den Befehl.</translation>
    </message>
    <message>
        <source>Areas in one place</source>
        <translation>Bereiche an einem Platz</translation>
    </message>
    <message>
        <source>%1: there is no such file or folder; check its name.</source>
        <translation>%1: Es gibt keine solche Datei und keinen solchen Ordner; prüfen Sie den Namen.</translation>
    </message>
</context>
<context>
    <name>palimpsest::ui::MapActions</name>
    <message>
        <source>Show the &amp;whole stream</source>
        <translation>Den &amp;ganzen Strom zeigen</translation>
    </message>
    <message>
        <source>&amp;Expand all layers</source>
        <translation>Alle Schichten &amp;aufklappen</translation>
    </message>
    <message>
        <source>&amp;Collapse all layers</source>
        <translation>Alle Schichten &amp;zuklappen</translation>
    </message>
    <message>
        <source>&amp;Go to this token</source>
        <translation>Zu &amp;diesem Token gehen</translation>
    </message>
    <message>
        <source>Show as &amp;table…</source>
        <translation>Als &amp;Tabelle zeigen…</translation>
    </message>
    <message>
        <source>E&amp;xport…</source>
        <translation>E&amp;xportieren…</translation>
    </message>
</context>
<context>
    <name>palimpsest::ui::MapCell</name>
    <message>
        <source>Layer %1</source>
        <translation>Schicht %1</translation>
    </message>
    <message>
        <source>Layer %1, head %2</source>
        <translation>Schicht %1, Kopf %2</translation>
    </message>
    <message>
        <source>%1 %</source>
        <translation>%1&#xa0;%</translation>
    </message>
    <message>
        <source>token %1</source>
        <translation>Token %1</translation>
    </message>
    <message>
        <source>tokens %1 to %2</source>
        <translation>Token %1 bis %2</translation>
    </message>
    <message>
        <source>%1, %2</source>
        <translation>%1, %2</translation>
    </message>
    <message>
        <source>%1: not read yet</source>
        <translation>%1: noch nicht gelesen</translation>
    </message>
    <message>
        <source>%1: none kept</source>
        <translation>%1: nichts behalten</translation>
    </message>
    <message>
        <source>%1: %2 of %3 kept (%4)</source>
        <translation>%1: %2 von %3 behalten (%4)</translation>
    </message>
    <message>
        <source>Token %1 is held by %2 of %3 heads in all</source>
        <translation>Token %1 wird von %2 der insgesamt %3 Köpfe gehalten</translation>
    </message>
    <message>
        <source>%1, by %2 of layer %3</source>
        <translation>%1, in Schicht %3 von %2</translation>
    </message>
    <message>
        <source>%1.</source>
        <translation>%1.</translation>
    </message>
    <message>
        <source>%1; here it is number %2 of %3, the oldest first.</source>
        <translation>%1; hier ist es Nummer %2 von %3, vom ältesten an gezählt.</translation>
    </message>
</context>
<context>
    <name>palimpsest::ui::MapExporter</name>
    <message>
        <source>PNG picture (*.png)</source>
        <translation>PNG-Bild (*.png)</translation>
    </message>
    <message>
        <source>SVG picture (*.svg)</source>
        <translation>SVG-Bild (*.svg)</translation>
    </message>
    <message>
        <source>List of kept tokens (*.csv)</source>
        <translation>Liste der behaltenen Token (*.csv)</translation>
    </message>
    <message>
        <source>Lists of layers and heads (*.json)</source>
        <translation>Listen der Schichten und Köpfe (*.json)</translation>
    </message>
    <message>
        <source>Export the retained-token map</source>
        <translation>Karte der behaltenen Token exportieren</translation>
    </message>
</context>
<context>
    <name>palimpsest::ui::MapPicture</name>
    <message>
        <source>layer</source>
        <translation>Schicht</translation>
    </message>
    <message>
        <source>token</source>
        <translation>Token</translation>
    </message>
    <message>
        <source>share kept</source>
        <translation>behaltener Anteil</translation>
    </message>
    <message>
        <source>none kept</source>
        <translation>nichts behalten</translation>
    </message>
    <message>
        <source>not read yet</source>
        <translation>noch nicht gelesen</translation>
    </message>
    <message>
        <source>pinned</source>
        <translation>angeheftet</translation>
    </message>
    <message>
        <source>source of the answer</source>
        <translation>Quelle der Antwort</translation>
    </message>
</context>
<context>
    <name>palimpsest::ui::MapReadout</name>
    <message>
        <source>Place of the crosshair</source>
        <translation>Stelle des Fadenkreuzes</translation>
    </message>
    <message>
        <source>%1 tokens read, %2 to %3 shown</source>
        <translation>%1 Token gelesen, %2 bis %3 gezeigt</translation>
    </message>
</context>
<context>
    <name>palimpsest::ui::MapTableWindow</name>
    <message>
        <source>Retained tokens as a table</source>
        <translation>Behaltene Token als Tabelle</translation>
    </message>
    <message>
        <source>&amp;Columns:</source>
        <translation>&amp;Spalten:</translation>
    </message>
    <message>
        <source>Columns of the table</source>
        <translation>Spalten der Tabelle</translation>
    </message>
    <message>
        <source>Sections</source>
        <translation>Abschnitte</translation>
    </message>
    <message>
        <source>Tenths of the stream</source>
        <translation>Zehntel des Stroms</translation>
    </message>
    <message>
        <source>Share of the tokens that each layer and head keeps</source>
        <translation>Anteil der Token, den jede Schicht und jeder Kopf behält</translation>
    </message>
    <message>
        <source>Rows are layers and heads, columns are parts of the stream.</source>
        <translation>Zeilen sind Schichten und Köpfe, Spalten sind Teile des Stroms.</translation>
    </message>
    <message>
        <source>Co&amp;py the table</source>
        <translation>Tabelle &amp;kopieren</translation>
    </message>
</context>
<context>
    <name>palimpsest::ui::Markdown</name>
    <message>
        <source>%1… (%2 characters)</source>
        <translation>%1… (%2 Zeichen)</translation>
    </message>
    <message>
        <source>Too many blocks to be laid out: shown as plain text.</source>
        <translation>Zu viele Blöcke für die Formatierung: als reiner Text gezeigt.</translation>
    </message>
    <message>
        <source>A table with too many columns to be laid out: shown as plain text.</source>
        <translation>Eine Tabelle mit zu vielen Spalten für die Formatierung: als reiner Text gezeigt.</translation>
    </message>
    <message>
        <source>A table with too many cells to be laid out: shown as plain text.</source>
        <translation>Eine Tabelle mit zu vielen Zellen für die Formatierung: als reiner Text gezeigt.</translation>
    </message>
    <message>
        <source>Nested too deeply to be laid out: shown as plain text.</source>
        <translation>Zu tief verschachtelt für die Formatierung: als reiner Text gezeigt.</translation>
    </message>
    <message>
        <source>Too many links to be laid out: shown as plain text.</source>
        <translation>Zu viele Links für die Formatierung: als reiner Text gezeigt.</translation>
    </message>
    <message>
        <source> (%1)</source>
        <translation> (%1)</translation>
    </message>
    <message>
        <source>[image: </source>
        <translation>[Bild: </translation>
    </message>
    <message>
        <source> (%1)]</source>
        <translation> (%1)]</translation>
    </message>
    <message>
        <source>Too long to be laid out: shown as plain text.</source>
        <translation>Zu lang für die Formatierung: als reiner Text gezeigt.</translation>
    </message>
</context>
<context>
    <name>palimpsest::ui::MemoryHistory</name>
    <message>
        <source>This session</source>
        <translation>Diese Sitzung</translation>
    </message>
    <message>
        <source>A full cache</source>
        <translation>Ein voller Cache</translation>
    </message>
</context>
<context>
    <name>palimpsest::ui::MemoryTable</name>
    <message>
        <source>Tokens read</source>
        <translation>Gelesene Token</translation>
    </message>
    <message>
        <source>Cache of this session</source>
        <translation>Cache dieser Sitzung</translation>
    </message>
    <message>
        <source>A full cache would take</source>
        <translation>Ein voller Cache bräuchte</translation>
    </message>
    <message>
        <source>Share of a full cache</source>
        <translation>Anteil an einem vollen Cache</translation>
    </message>
    <message>
        <source>Working memory</source>
        <translation>Arbeitsspeicher der Berechnung</translation>
    </message>
    <message>
        <source>Lies in</source>
        <translation>Liegt im</translation>
    </message>
    <message>
        <source>Slots used</source>
        <translation>Belegte Slots</translation>
    </message>
    <message>
        <source>Slots freed so far</source>
        <translation>Bisher freigegebene Slots</translation>
    </message>
    <message>
        <source>Speed</source>
        <translation>Tempo</translation>
    </message>
    <message>
        <source>memory of %1</source>
        <translation>Speicher von %1</translation>
    </message>
    <message>
        <source>main memory</source>
        <translation>Hauptspeicher</translation>
    </message>
    <message>
        <source>%1 of %2 (%3)</source>
        <translation>%1 von %2 (%3)</translation>
    </message>
    <message>
        <source>%1: %2</source>
        <translation>%1: %2</translation>
    </message>
    <message>
        <source>Quantity</source>
        <translation>Größe</translation>
    </message>
    <message>
        <source>Value</source>
        <translation>Wert</translation>
    </message>
</context>
<context>
    <name>palimpsest::ui::MemoryView</name>
    <message>
        <source>Memory over the tokens read</source>
        <translation>Speicher über den gelesenen Token</translation>
    </message>
    <message>
        <source>Memory</source>
        <translation>Speicher</translation>
    </message>
    <message>
        <source>Memory of the session in numbers</source>
        <translation>Speicher der Sitzung in Zahlen</translation>
    </message>
    <message>
        <source>Nothing is held yet. While a document is read, this shows what the cache of its session takes, beside what a full cache would take.</source>
        <translation>Noch wird nichts gehalten. Während ein Dokument gelesen wird, steht hier, was der Cache seiner Sitzung belegt, neben dem, was ein voller Cache bräuchte.</translation>
    </message>
    <message>
        <source>Tokens read</source>
        <translation>Gelesene Token</translation>
    </message>
    <message>
        <source>Bytes, logarithmic scale</source>
        <translation>Bytes, logarithmische Skala</translation>
    </message>
    <message>
        <source>Bytes</source>
        <translation>Bytes</translation>
    </message>
</context>
<context>
    <name>palimpsest::ui::MessageBar</name>
    <message>
        <source>Message</source>
        <translation>Meldung</translation>
    </message>
    <message>
        <source>Close the message</source>
        <translation>Meldung schließen</translation>
    </message>
    <message>
        <source>Problem</source>
        <translation>Problem</translation>
    </message>
    <message>
        <source>Note</source>
        <translation>Hinweis</translation>
    </message>
    <message>
        <source>What to do about it</source>
        <translation>Was zu tun ist</translation>
    </message>
</context>
<context>
    <name>palimpsest::ui::MessageLayout</name>
    <message>
        <source>Copy</source>
        <translation>Kopieren</translation>
    </message>
    <message numerus="yes">
        <source>Show all %n line(s)</source>
        <translation>
            <numerusform>%n Zeile anzeigen</numerusform>
            <numerusform>Alle %n Zeilen anzeigen</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>palimpsest::ui::ModelBar</name>
    <message>
        <source>Model and device</source>
        <translation>Modell und Gerät</translation>
    </message>
    <message>
        <source>Model</source>
        <translation>Modell</translation>
    </message>
    <message>
        <source>Device</source>
        <translation>Gerät</translation>
    </message>
    <message>
        <source>Looking for models…</source>
        <translation>Modelle werden gesucht…</translation>
    </message>
    <message>
        <source>%1 (default)</source>
        <translation>%1 (Vorgabe)</translation>
    </message>
    <message>
        <source>%1 (shipped)</source>
        <translation>%1 (mitgeliefert)</translation>
    </message>
    <message>
        <source>The default cannot be read</source>
        <translation>Die Vorgabe ist nicht lesbar</translation>
    </message>
    <message>
        <source>%1 (missing)</source>
        <translation>%1 (fehlt)</translation>
    </message>
    <message>
        <source>Another model…</source>
        <translation>Anderes Modell…</translation>
    </message>
    <message>
        <source>Make this model the default</source>
        <translation>Dieses Modell zur Vorgabe machen</translation>
    </message>
    <message>
        <source>No model is loaded</source>
        <translation>Kein Modell ist geladen</translation>
    </message>
    <message>
        <source>%1 is loaded, on %2</source>
        <translation>%1 ist geladen, auf %2</translation>
    </message>
</context>
<context>
    <name>palimpsest::ui::OutlineModel</name>
    <message>
        <source>tokens %1 to %2</source>
        <translation>Token %1 bis %2</translation>
    </message>
    <message>
        <source>%1 held</source>
        <translation>%1 gehalten</translation>
    </message>
    <message>
        <source>not read yet</source>
        <translation>noch nicht gelesen</translation>
    </message>
    <message>
        <source>quoted</source>
        <translation>zitiert</translation>
    </message>
    <message>
        <source>quoted · %1</source>
        <translation>zitiert · %1</translation>
    </message>
    <message>
        <source>(no title)</source>
        <translation>(ohne Titel)</translation>
    </message>
    <message>
        <source>%1, part %2 of %3</source>
        <translation>%1, Teil %2 von %3</translation>
    </message>
    <message>
        <source>“%1”</source>
        <translation>„%1“</translation>
    </message>
    <message>
        <source>quoted: %1</source>
        <translation>zitiert: %1</translation>
    </message>
    <message>
        <source>less than 0.1 % held</source>
        <translation>weniger als 0,1&#xa0;% gehalten</translation>
    </message>
</context>
<context>
    <name>palimpsest::ui::OutlinePage</name>
    <message>
        <source>What each section says</source>
        <translation>Was in jedem Abschnitt steht</translation>
    </message>
    <message>
        <source>The sections of a document are listed here, with how much of each is still held. The model can write a note on each: in a few words, what the section is about. A click goes to the text.</source>
        <translation>Hier stehen die Abschnitte eines Dokuments, und wie viel von jedem noch gehalten wird. Das Modell kann zu jedem eine Notiz schreiben: in wenigen Worten, wovon der Abschnitt handelt. Ein Klick führt zum Text.</translation>
    </message>
    <message>
        <source>&amp;Open a document…</source>
        <translation>Dokument ö&amp;ffnen…</translation>
    </message>
    <message>
        <source>Open a document</source>
        <translation>Dokument öffnen</translation>
    </message>
    <message>
        <source>Notes</source>
        <translation>Notizen</translation>
    </message>
    <message>
        <source>&amp;Write notes</source>
        <translation>&amp;Notizen schreiben</translation>
    </message>
    <message>
        <source>Write notes</source>
        <translation>Notizen schreiben</translation>
    </message>
    <message>
        <source>Copy all</source>
        <translation>Alles kopieren</translation>
    </message>
    <message>
        <source>Copy all sections and notes</source>
        <translation>Alle Abschnitte und Notizen kopieren</translation>
    </message>
    <message>
        <source>There are no notes yet. A note says in a few words what a section is about; writing them takes about as long as reading.</source>
        <translation>Es gibt noch keine Notizen. Eine Notiz sagt in wenigen Worten, wovon ein Abschnitt handelt; sie zu schreiben dauert etwa so lange wie das Lesen.</translation>
    </message>
    <message>
        <source>%1 of %2 notes are written.</source>
        <translation>%1 von %2 Notizen sind geschrieben.</translation>
    </message>
    <message numerus="yes">
        <source>%n note(s)</source>
        <translation>
            <numerusform>%n Notiz</numerusform>
            <numerusform>%n Notizen</numerusform>
        </translation>
    </message>
    <message>
        <source>Write the missing notes on what was read; it can be stopped at any time</source>
        <translation>Die fehlenden Notizen zum Gelesenen schreiben; das kann jederzeit angehalten werden</translation>
    </message>
</context>
<context>
    <name>palimpsest::ui::OutlineView</name>
    <message>
        <source>Sections and their notes</source>
        <translation>Abschnitte und ihre Notizen</translation>
    </message>
    <message>
        <source>&amp;Go to this place</source>
        <translation>&amp;Zu dieser Stelle gehen</translation>
    </message>
    <message>
        <source>&amp;Copy</source>
        <translation>&amp;Kopieren</translation>
    </message>
    <message>
        <source>Copy &amp;all</source>
        <translation>&amp;Alles kopieren</translation>
    </message>
</context>
<context>
    <name>palimpsest::ui::ParameterField</name>
    <message>
        <source>default (%1)</source>
        <translation>Vorgabe (%1)</translation>
    </message>
    <message>
        <source>default %1; %2</source>
        <translation>Vorgabe %1; %2</translation>
    </message>
    <message>
        <source>%1 (%2)</source>
        <translation>%1 (%2)</translation>
    </message>
</context>
<context>
    <name>palimpsest::ui::PolicyModel</name>
    <message>
        <source>%1: %2</source>
        <translation>%1: %2</translation>
    </message>
</context>
<context>
    <name>palimpsest::ui::PolicyPanel</name>
    <message>
        <source>Policy</source>
        <translation>Policy</translation>
    </message>
    <message>
        <source>Search policies, papers, signals</source>
        <translation>Policies, Arbeiten, Signale durchsuchen</translation>
    </message>
    <message>
        <source>Search policies</source>
        <translation>Policies durchsuchen</translation>
    </message>
    <message>
        <source>Policies</source>
        <translation>Policies</translation>
    </message>
    <message>
        <source>Budget</source>
        <translation>Budget</translation>
    </message>
    <message>
        <source>the default</source>
        <translation>die Vorgabe</translation>
    </message>
    <message>
        <source>Tokens kept per layer and head (2048), memory (512MiB), a share of the text (25%), auto or auto:512: as many as attention needs, none: as many as the model takes</source>
        <translation>Behaltene Token je Schicht und Kopf (2048), Speicher (512MiB), ein Anteil am Text (25%), auto oder auto:512: so viele, wie die Aufmerksamkeit braucht, none: so viele, wie das Modell fasst</translation>
    </message>
    <message>
        <source>Chunk</source>
        <translation>Chunk</translation>
    </message>
    <message>
        <source>Tokens that are read before the policy decides what leaves</source>
        <translation>Token, die gelesen werden, bevor die Policy entscheidet, was geht</translation>
    </message>
    <message>
        <source>&amp;Budget</source>
        <translation>&amp;Budget</translation>
    </message>
    <message>
        <source>C&amp;hunk</source>
        <translation>Chun&amp;k</translation>
    </message>
    <message>
        <source>Restore &amp;defaults</source>
        <translation>&amp;Vorgaben wiederherstellen</translation>
    </message>
    <message>
        <source>Budget, chunk and options as the policy has them (%1)</source>
        <translation>Budget, Chunk und Optionen, wie die Policy sie vorgibt (%1)</translation>
    </message>
    <message>
        <source>&amp;Apply</source>
        <translation>Über&amp;nehmen</translation>
    </message>
    <message>
        <source>Use these settings (%1)</source>
        <translation>Diese Einstellungen verwenden (%1)</translation>
    </message>
    <message>
        <source>%1
Signals: %2
Cost: %3
Positions: %4
Paper: %5</source>
        <translation>%1
Signale: %2
Aufwand: %3
Positionen: %4
Arbeit: %5</translation>
    </message>
    <message>
        <source>Options of %1 (%2)</source>
        <translation>Optionen von %1 (%2)</translation>
    </message>
    <message>
        <source>Keeps %1 tokens per layer and head: the cache takes %2 with this model.</source>
        <translation>Behält %1 Token je Schicht und Kopf: Mit diesem Modell belegt der Cache %2.</translation>
    </message>
    <message>
        <source>How much memory a share takes is known once the length of the text is.</source>
        <translation>Wie viel Speicher ein Anteil belegt, steht fest, sobald die Länge des Textes bekannt ist.</translation>
    </message>
    <message>
        <source>Open a model to see what this takes of memory.</source>
        <translation>Sobald ein Modell geöffnet ist, steht hier, wie viel Speicher das belegt.</translation>
    </message>
    <message>
        <source>Change the policy</source>
        <translation>Policy ändern</translation>
    </message>
    <message>
        <source>How should “%1” go on with %2?</source>
        <translation>Wie soll „%1“ mit %2 weitergehen?</translation>
    </message>
    <message>
        <source>What was evicted cannot come back. A copy reads the documents again from the beginning and keeps what the new settings keep; this session stays as it is. Going on keeps what is held now, and the new settings decide from here.</source>
        <translation>Was verdrängt wurde, kommt nicht zurück. Eine Kopie liest die Dokumente noch einmal von Anfang an und behält, was die neuen Einstellungen behalten; diese Sitzung bleibt, wie sie ist. Beim Weitermachen bleibt, was jetzt gehalten wird, und ab hier entscheiden die neuen Einstellungen.</translation>
    </message>
    <message>
        <source>&amp;Start a copy</source>
        <translation>&amp;Kopie beginnen</translation>
    </message>
    <message>
        <source>&amp;Go on from here</source>
        <translation>Von hier &amp;weitermachen</translation>
    </message>
    <message>
        <source>Has room for %1 tokens per layer and head: the cache takes %2 with this model, as much as a full one.</source>
        <translation>Hat Platz für %1 Token je Schicht und Kopf: Der Cache belegt mit diesem Modell %2, so viel wie ein voller.</translation>
    </message>
</context>
<context>
    <name>palimpsest::ui::Quantity</name>
    <message>
        <source>%1 %</source>
        <translation>%1&#xa0;%</translation>
    </message>
    <message>
        <source>%1 tok/s</source>
        <translation>%1 Token/s</translation>
    </message>
    <message>
        <source>%1 s</source>
        <translation>%1&#xa0;s</translation>
    </message>
    <message>
        <source>min</source>
        <translation>min</translation>
    </message>
    <message>
        <source>h</source>
        <translation>h</translation>
    </message>
</context>
<context>
    <name>palimpsest::ui::QuestionField</name>
    <message>
        <source>Question</source>
        <translation>Frage</translation>
    </message>
    <message>
        <source>Ask about this document…</source>
        <translation>Frage zu diesem Dokument…</translation>
    </message>
</context>
<context>
    <name>palimpsest::ui::RecentMenu</name>
    <message>
        <source>Open &amp;recent</source>
        <translation>&amp;Zuletzt geöffnet</translation>
    </message>
    <message>
        <source>Read %1 in a new session</source>
        <translation>%1 in einer neuen Sitzung lesen</translation>
    </message>
    <message>
        <source>&amp;Forget these</source>
        <translation>Diese &amp;vergessen</translation>
    </message>
    <message>
        <source>Forget which files were opened; what was read of them stays</source>
        <translation>Vergessen, welche Dateien geöffnet waren; was daraus gelesen wurde, bleibt</translation>
    </message>
</context>
<context>
    <name>palimpsest::ui::RetentionTable</name>
    <message>
        <source>not read</source>
        <translation>nicht gelesen</translation>
    </message>
    <message>
        <source>%1 (%2)</source>
        <translation>%1 (%2)</translation>
    </message>
    <message>
        <source>%1, %2: not read</source>
        <translation>%1, %2: nicht gelesen</translation>
    </message>
    <message>
        <source>%1, %2: %3 of %4 kept (%5)</source>
        <translation>%1, %2: %3 von %4 behalten (%5)</translation>
    </message>
    <message>
        <source>no token</source>
        <translation>kein Token</translation>
    </message>
    <message>
        <source>%1 to %2</source>
        <translation>%1 bis %2</translation>
    </message>
    <message>
        <source>%1 · %2</source>
        <translation>%1 · %2</translation>
    </message>
</context>
<context>
    <name>palimpsest::ui::RetentionView</name>
    <message>
        <source>Retained-token map</source>
        <translation>Karte der behaltenen Token</translation>
    </message>
    <message>
        <source>Which tokens of the stream each layer and head keeps. Arrow keys move the crosshair, plus and minus zoom, Enter shows a layer&apos;s heads, T shows the map as a table.</source>
        <translation>Welche Token des Stroms jede Schicht und jeder Kopf behält. Pfeiltasten bewegen das Fadenkreuz, Plus und Minus vergrößern und verkleinern, Eingabe zeigt die Köpfe einer Schicht, T zeigt die Karte als Tabelle.</translation>
    </message>
    <message>
        <source>Nothing is read yet.
The map fills as the document streams in.</source>
        <translation>Noch ist nichts gelesen.
Die Karte füllt sich, während das Dokument einströmt.</translation>
    </message>
    <message>
        <source>No session is open.
What each layer and head keeps appears here.</source>
        <translation>Keine Sitzung ist offen.
Hier erscheint, was jede Schicht und jeder Kopf behält.</translation>
    </message>
</context>
<context>
    <name>palimpsest::ui::SampleTour</name>
    <message>
        <source>Who kept the light after the storm?</source>
        <translation>Who kept the light after the storm?</translation>
    </message>
    <message>
        <source>Documents and sessions</source>
        <translation>Dokumente und Sitzungen</translation>
    </message>
    <message>
        <source>Everything that was read is here. Drop a document anywhere on the window, or open one: it streams into a memory of fixed size, however long it is. Closed and opened again, it goes on in a moment.</source>
        <translation>Hier ist alles, was gelesen wurde. Ein Dokument lässt sich an beliebiger Stelle auf dem Fenster ablegen oder öffnen: Es strömt in einen Speicher von fester Größe, so lang es auch ist. Geschlossen und wieder geöffnet, geht es sofort weiter.</translation>
    </message>
    <message>
        <source>&amp;Read the sample</source>
        <translation>Beispiel &amp;lesen</translation>
    </message>
    <message>
        <source>Questions and answers</source>
        <translation>Fragen und Antworten</translation>
    </message>
    <message>
        <source>&amp;Ask: %1</source>
        <translation>F&amp;ragen: %1</translation>
    </message>
    <message>
        <source>The document as it is remembered</source>
        <translation>Das Dokument, wie es erinnert wird</translation>
    </message>
    <message>
        <source>The text as it was read. Every token is shaded by how much of it is still held; a slider shows how the memory faded. A passage that must not fade can be pinned, at a price that is said.</source>
        <translation>Der Text, wie er gelesen wurde. Jedes Token ist danach schattiert, wie viel davon noch gehalten wird; ein Schieberegler zeigt, wie die Erinnerung verblasste. Eine Stelle, die nicht verblassen darf, lässt sich anheften; was das kostet, wird genannt.</translation>
    </message>
    <message>
        <source>Retained tokens</source>
        <translation>Behaltene Token</translation>
    </message>
    <message>
        <source>Token by token from left to right, layer by layer from bottom to top: what is kept now. Zoom with the wheel or with plus and minus, move with the arrow keys; it is live while something is read.</source>
        <translation>Token für Token von links nach rechts, Schicht für Schicht von unten nach oben: was jetzt behalten ist. Das Mausrad oder Plus und Minus vergrößern, die Pfeiltasten bewegen; während gelesen wird, ist die Karte live.</translation>
    </message>
    <message>
        <source>Memory</source>
        <translation>Speicher</translation>
    </message>
    <message>
        <source>What the cache has allocated, beside what a cache that keeps every token would take. The one is a flat line, the other is not: that is what this program is for.</source>
        <translation>Was der Cache belegt, neben dem, was ein Cache bräuchte, der jedes Token behält. Die eine Linie ist flach, die andere nicht: Dafür ist dieses Programm da.</translation>
    </message>
    <message>
        <source>Policies</source>
        <translation>Policies</translation>
    </message>
    <message>
        <source>A policy decides what is kept and what may go. Choose another, or compare up to four of them on one document. Ctrl+K finds every command, F1 lists all keys, and this tour is in the Help menu.</source>
        <translation>Eine Policy entscheidet, was behalten wird und was gehen darf. Eine andere lässt sich wählen, und bis zu vier lassen sich an einem Dokument vergleichen. Strg+K findet jeden Befehl, F1 zeigt alle Tasten, und dieser Rundgang steht im Menü „Hilfe“.</translation>
    </message>
    <message>
        <source>Ask about what was read, also while it is still being read: a question is then answered from what was read so far, and again at the end. Each answer tells how much of the document it rests on.</source>
        <translation>Fragen Sie nach dem, was gelesen wurde, auch während noch gelesen wird: Eine Frage wird dann aus dem bisher Gelesenen beantwortet, und am Ende noch einmal. Jede Antwort sagt, auf wie viel vom Dokument sie beruht.</translation>
    </message>
</context>
<context>
    <name>palimpsest::ui::SearchField</name>
    <message>
        <source>Find words in all texts</source>
        <translation>Wörter in allen Texten finden</translation>
    </message>
    <message>
        <source>Finds names, messages and passages that have all of the words. &quot;Words between quotation marks&quot; are kept together.</source>
        <translation>Findet Namen, Nachrichten und Stellen, die alle Wörter enthalten. &quot;Wörter in Anführungszeichen&quot; bleiben zusammen.</translation>
    </message>
    <message>
        <source>Search the library</source>
        <translation>Bibliothek durchsuchen</translation>
    </message>
    <message>
        <source>Names are filtered while you type; all documents and messages are searched as well</source>
        <translation>Namen werden beim Tippen gefiltert; auch alle Dokumente und Nachrichten werden durchsucht</translation>
    </message>
</context>
<context>
    <name>palimpsest::ui::SearchModel</name>
    <message>
        <source>said in %1</source>
        <translation>gesagt in %1</translation>
    </message>
    <message>
        <source>%1: %2</source>
        <translation>%1: %2</translation>
    </message>
    <message>
        <source>%1 · %2</source>
        <translation>%1 · %2</translation>
    </message>
</context>
<context>
    <name>palimpsest::ui::SettingsDialog</name>
    <message>
        <source>Settings</source>
        <translation>Einstellungen</translation>
    </message>
    <message>
        <source>Pages of settings</source>
        <translation>Seiten der Einstellungen</translation>
    </message>
    <message>
        <source>Choose…</source>
        <translation>Wählen…</translation>
    </message>
    <message>
        <source>Models</source>
        <translation>Modelle</translation>
    </message>
    <message>
        <source>Folder with models</source>
        <translation>Ordner mit Modellen</translation>
    </message>
    <message>
        <source>As many as there are cores</source>
        <translation>So viele, wie es Kerne gibt</translation>
    </message>
    <message>
        <source>&amp;Folder with models:</source>
        <translation>&amp;Ordner mit Modellen:</translation>
    </message>
    <message>
        <source>Choose the folder with models</source>
        <translation>Ordner mit Modellen wählen</translation>
    </message>
    <message>
        <source>.gguf files, and Hugging Face folders</source>
        <translation>.gguf-Dateien und Hugging-Face-Ordner</translation>
    </message>
    <message>
        <source>&amp;Device:</source>
        <translation>&amp;Gerät:</translation>
    </message>
    <message>
        <source>Where the model computes</source>
        <translation>Wo das Modell rechnet</translation>
    </message>
    <message>
        <source>CPU &amp;threads:</source>
        <translation>CPU-&amp;Threads:</translation>
    </message>
    <message>
        <source>Answers are the same for any number</source>
        <translation>Die Antworten sind bei jeder Anzahl dieselben</translation>
    </message>
    <message>
        <source>The model itself is chosen in the tool bar. All of it takes effect with the next model that is loaded.</source>
        <translation>Das Modell selbst wird in der Werkzeugleiste gewählt. Alles hier wirkt ab dem nächsten Modell, das geladen wird.</translation>
    </message>
    <message>
        <source>Reading and answers</source>
        <translation>Lesen und Antworten</translation>
    </message>
    <message>
        <source>automatic</source>
        <translation>automatisch</translation>
    </message>
    <message>
        <source>off</source>
        <translation>aus</translation>
    </message>
    <message>
        <source>&amp;Policy of new sessions:</source>
        <translation>&amp;Policy neuer Sitzungen:</translation>
    </message>
    <message>
        <source>What decides which tokens are kept</source>
        <translation>Was entscheidet, welche Token behalten werden</translation>
    </message>
    <message>
        <source>&amp;Budget:</source>
        <translation>&amp;Budget:</translation>
    </message>
    <message>
        <source>Tokens kept per layer and head, such as 2048; or memory, such as 512MiB; or a share, such as 25%</source>
        <translation>Behaltene Token je Schicht und Kopf, etwa 2048; oder Speicher, etwa 512MiB; oder ein Anteil, etwa 25%</translation>
    </message>
    <message>
        <source>C&amp;hunk:</source>
        <translation>C&amp;hunk:</translation>
    </message>
    <message>
        <source>Tokens read at a time</source>
        <translation>Auf einmal gelesene Token</translation>
    </message>
    <message>
        <source>&amp;Temperature:</source>
        <translation>&amp;Temperatur:</translation>
    </message>
    <message>
        <source>0: always the most likely word</source>
        <translation>0: immer das wahrscheinlichste Wort</translation>
    </message>
    <message>
        <source>Top-&amp;p:</source>
        <translation>T&amp;op-p:</translation>
    </message>
    <message>
        <source>1: off</source>
        <translation>1: aus</translation>
    </message>
    <message>
        <source>&amp;Min-p:</source>
        <translation>&amp;Min-p:</translation>
    </message>
    <message>
        <source>0: off</source>
        <translation>0: aus</translation>
    </message>
    <message>
        <source>Top-&amp;k:</source>
        <translation>Top-&amp;k:</translation>
    </message>
    <message>
        <source>&amp;Repeat penalty:</source>
        <translation>Strafe für &amp;Wiederholung:</translation>
    </message>
    <message>
        <source>&amp;Seed:</source>
        <translation>&amp;Startwert:</translation>
    </message>
    <message>
        <source>The same seed gives the same answer</source>
        <translation>Derselbe Startwert gibt dieselbe Antwort</translation>
    </message>
    <message>
        <source>&amp;Longest answer:</source>
        <translation>&amp;Längste Antwort:</translation>
    </message>
    <message>
        <source>In tokens; reaching it is said</source>
        <translation>In Token; wird sie erreicht, steht das bei der Antwort</translation>
    </message>
    <message>
        <source>Window</source>
        <translation>Fenster</translation>
    </message>
    <message>
        <source>As the desktop</source>
        <translation>Wie der Desktop</translation>
    </message>
    <message>
        <source>Light</source>
        <translation>Hell</translation>
    </message>
    <message>
        <source>Dark</source>
        <translation>Dunkel</translation>
    </message>
    <message>
        <source> %</source>
        <translation>&#xa0;%</translation>
    </message>
    <message>
        <source>Let nothing &amp;move or blink</source>
        <translation>Nichts be&amp;wegen oder blinken lassen</translation>
    </message>
    <message>
        <source>Enter sends, Shift+Enter begins a new line</source>
        <translation>Eingabe sendet, Umschalt+Eingabe beginnt eine neue Zeile</translation>
    </message>
    <message>
        <source>Ctrl+Enter sends, Enter begins a new line</source>
        <translation>Strg+Eingabe sendet, Eingabe beginnt eine neue Zeile</translation>
    </message>
    <message>
        <source>&amp;Colours:</source>
        <translation>&amp;Farben:</translation>
    </message>
    <message>
        <source>&amp;Text size:</source>
        <translation>&amp;Textgröße:</translation>
    </message>
    <message>
        <source>Of the desktop&apos;s; Ctrl+Plus and Ctrl+Minus change it too</source>
        <translation>Von der des Desktops; auch Strg+Plus und Strg+Minus ändern sie</translation>
    </message>
    <message>
        <source>&amp;Sending a question:</source>
        <translation>F&amp;rage senden:</translation>
    </message>
    <message>
        <source>&amp;Language:</source>
        <translation>&amp;Sprache:</translation>
    </message>
    <message>
        <source>Takes effect with the next start</source>
        <translation>Wirkt ab dem nächsten Start</translation>
    </message>
    <message>
        <source>Privacy</source>
        <translation>Datenschutz</translation>
    </message>
    <message>
        <source>Database</source>
        <translation>Datenbank</translation>
    </message>
    <message>
        <source>&amp;Empty…</source>
        <translation>&amp;Leeren…</translation>
    </message>
    <message>
        <source>Delete all documents and sessions for good</source>
        <translation>Alle Dokumente und Sitzungen endgültig löschen</translation>
    </message>
    <message>
        <source>Nothing ever leaves this machine: the program has no part that reaches a network. This is all that it keeps:</source>
        <translation>Nichts verlässt je diesen Rechner: Kein Teil des Programms greift auf ein Netzwerk zu. Das ist alles, was es aufbewahrt:</translation>
    </message>
    <message>
        <source>&amp;Database:</source>
        <translation>&amp;Datenbank:</translation>
    </message>
    <message>
        <source>Choose the database</source>
        <translation>Datenbank wählen</translation>
    </message>
    <message>
        <source>Takes effect with the next start; what is in the present one stays there</source>
        <translation>Wirkt ab dem nächsten Start; was in der jetzigen ist, bleibt dort</translation>
    </message>
    <message>
        <source>Delete everything?</source>
        <translation>Alles löschen?</translation>
    </message>
    <message>
        <source>All documents, sessions and saved states are deleted for good, and their backups too.</source>
        <translation>Alle Dokumente, Sitzungen und gespeicherten Zustände werden endgültig gelöscht, auch ihre Sicherungen.</translation>
    </message>
    <message>
        <source>The files that you opened stay where they are. This cannot be undone.</source>
        <translation>Die geöffneten Dateien bleiben, wo sie sind. Das lässt sich nicht rückgängig machen.</translation>
    </message>
    <message>
        <source>&amp;Delete everything</source>
        <translation>&amp;Alles löschen</translation>
    </message>
    <message>
        <source>S&amp;ystem prompt:</source>
        <translation>S&amp;ystem-Prompt:</translation>
    </message>
    <message>
        <source>the model&apos;s own, if it has one</source>
        <translation>der des Modells, falls es einen hat</translation>
    </message>
    <message>
        <source>How the model is to answer in new sessions; a session keeps the one it was begun with</source>
        <translation>Wie das Modell in neuen Sitzungen antworten soll; eine Sitzung behält den, mit dem sie begonnen wurde</translation>
    </message>
    <message>
        <source>Read again what a &amp;question is about and is hardly held</source>
        <translation>Erneut lesen, worum es in einer &amp;Frage geht und was kaum noch behalten ist</translation>
    </message>
    <message>
        <source>&amp;Write notes while reading</source>
        <translation>Beim Lesen &amp;Notizen schreiben</translation>
    </message>
    <message>
        <source>Su&amp;ggest questions about a text that has notes</source>
        <translation>Fra&amp;gen zu einem Text mit Notizen vorschlagen</translation>
    </message>
    <message>
        <source>The outline then says in a few words what each section is about. Reading takes about twice as long</source>
        <translation>Die Gliederung sagt dann in wenigen Worten, wovon jeder Abschnitt handelt. Das Lesen dauert etwa doppelt so lange</translation>
    </message>
    <message>
        <source>&amp;Answer it from the sentences found alone</source>
        <translation>Nur &amp;aus den gefundenen Sätzen antworten</translation>
    </message>
    <message>
        <source>A small model is confused by all that its cache holds of a long text; a large one may gain from it</source>
        <translation>Ein kleines Modell verwirrt all das, was sein Cache von einem langen Text hält; einem großen kann es nützen</translation>
    </message>
    <message>
        <source>exact</source>
        <translation>exakt</translation>
    </message>
    <message>
        <source>rounded to 8 bits, about half the size</source>
        <translation>auf 8 Bit gerundet, etwa die halbe Größe</translation>
    </message>
    <message>
        <source>rounded to 4 bits, about a third of the size</source>
        <translation>auf 4 Bit gerundet, etwa ein Drittel der Größe</translation>
    </message>
    <message>
        <source>Saved &amp;caches:</source>
        <translation>Gespeicherte &amp;Caches:</translation>
    </message>
    <message>
        <source>A new session that goes on from a rounded cache may answer otherwise</source>
        <translation>Eine neue Sitzung, die von einem gerundeten Cache aus weitergeht, kann anders antworten</translation>
    </message>
</context>
<context>
    <name>palimpsest::ui::StatusLine</name>
    <message>
        <source>Loading model %1</source>
        <translation>Modell %1 wird geladen</translation>
    </message>
    <message>
        <source>Loading the model</source>
        <translation>Modell wird geladen</translation>
    </message>
    <message>
        <source>Opening %1</source>
        <translation>%1 wird geöffnet</translation>
    </message>
    <message>
        <source>Opening</source>
        <translation>Öffnen</translation>
    </message>
    <message>
        <source>Reading</source>
        <translation>Lesen</translation>
    </message>
    <message>
        <source>Answering</source>
        <translation>Antworten</translation>
    </message>
    <message>
        <source>Saving</source>
        <translation>Speichern</translation>
    </message>
    <message>
        <source>%1 %2 %</source>
        <translation>%1 %2&#xa0;%</translation>
    </message>
    <message>
        <source>%1 / %2 tokens</source>
        <translation>%1 / %2 Token</translation>
    </message>
    <message>
        <source>%1 left</source>
        <translation>noch %1</translation>
    </message>
    <message numerus="yes">
        <source>%n waiting</source>
        <translation>
            <numerusform>%n wartet</numerusform>
            <numerusform>%n warten</numerusform>
        </translation>
    </message>
    <message>
        <source>cache %1 of %2 full</source>
        <translation>Cache %1, voller Cache %2</translation>
    </message>
    <message>
        <source>Progress</source>
        <translation>Fortschritt</translation>
    </message>
    <message>
        <source>What the cache has allocated, beside what a cache that keeps every token would take</source>
        <translation>Was der Cache belegt, neben dem, was ein Cache bräuchte, der jedes Token behält</translation>
    </message>
    <message>
        <source>Share done</source>
        <translation>Erledigter Anteil</translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>Abbrechen</translation>
    </message>
    <message>
        <source>Stop what runs now (Esc); what was read so far is kept</source>
        <translation>Stoppen, was jetzt läuft (Esc); was bisher gelesen wurde, bleibt</translation>
    </message>
    <message>
        <source>Cancel what runs</source>
        <translation>Abbrechen, was läuft</translation>
    </message>
    <message>
        <source>Ready</source>
        <translation>Bereit</translation>
    </message>
    <message>
        <source>%1 of %2 tokens read</source>
        <translation>%1 von %2 Token gelesen</translation>
    </message>
    <message>
        <source>%1 · %2</source>
        <translation>%1 · %2</translation>
    </message>
    <message>
        <source>Writing notes</source>
        <translation>Notizen schreiben</translation>
    </message>
    <message>
        <source>Indexing documents</source>
        <translation>Dokumente werden indiziert</translation>
    </message>
    <message>
        <source>%1 of %2</source>
        <translation>%1 von %2</translation>
    </message>
    <message>
        <source>Adding to the library</source>
        <translation>Aufnehmen in die Bibliothek</translation>
    </message>
</context>
<context>
    <name>palimpsest::ui::StoredPlaces</name>
    <message>
        <source>What is stored where</source>
        <translation>Was wo gespeichert ist</translation>
    </message>
    <message>
        <source>What</source>
        <translation>Was</translation>
    </message>
    <message>
        <source>Size</source>
        <translation>Größe</translation>
    </message>
    <message>
        <source>Where</source>
        <translation>Wo</translation>
    </message>
    <message>
        <source>nothing</source>
        <translation>nichts</translation>
    </message>
    <message>
        <source>Documents, sessions and saved states</source>
        <translation>Dokumente, Sitzungen und gespeicherte Zustände</translation>
    </message>
    <message>
        <source>Backups of them, one a day</source>
        <translation>Deren Sicherungen, eine je Tag</translation>
    </message>
    <message>
        <source>Settings, window places and recent files</source>
        <translation>Einstellungen, Fensteranordnung und zuletzt geöffnete Dateien</translation>
    </message>
    <message>
        <source>Models</source>
        <translation>Modelle</translation>
    </message>
</context>
<context>
    <name>palimpsest::ui::SuggestedQuestions</name>
    <message>
        <source>Who is %1?</source>
        <translation>Wer ist %1?</translation>
    </message>
    <message>
        <source>What is said about %1?</source>
        <translation>Was steht im Text über %1?</translation>
    </message>
    <message>
        <source>What happens in “%1”?</source>
        <translation>Was geschieht in „%1“?</translation>
    </message>
</context>
<context>
    <name>palimpsest::ui::TextSource</name>
    <message>
        <source>The text changed while it was copied; select the passage anew.</source>
        <translation>Der Text hat sich beim Kopieren geändert; wählen Sie die Stelle neu aus.</translation>
    </message>
</context>
<context>
    <name>palimpsest::ui::TimeBar</name>
    <message>
        <source>Now</source>
        <translation>Jetzt</translation>
    </message>
    <message>
        <source>Back to now</source>
        <translation>Zurück zum Jetzt</translation>
    </message>
    <message>
        <source>What is held now, heads counted exactly</source>
        <translation>Was jetzt gehalten wird, Köpfe genau gezählt</translation>
    </message>
    <message>
        <source>Time, in tokens read</source>
        <translation>Zeit, in gelesenen Token</translation>
    </message>
    <message>
        <source>Replay how the memory of the text faded</source>
        <translation>Zeigen, wie die Erinnerung an den Text verblasste</translation>
    </message>
    <message>
        <source>Time shown</source>
        <translation>Gezeigte Zeit</translation>
    </message>
    <message>
        <source>Pause the replay</source>
        <translation>Wiedergabe anhalten</translation>
    </message>
    <message>
        <source>Play how the memory faded</source>
        <translation>Abspielen, wie die Erinnerung verblasste</translation>
    </message>
    <message>
        <source>no record of fading</source>
        <translation>keine Aufzeichnung des Verblassens</translation>
    </message>
    <message>
        <source>now: %1 tokens read</source>
        <translation>jetzt: %1 Token gelesen</translation>
    </message>
    <message>
        <source>%1 of %2 tokens read</source>
        <translation>%1 von %2 Token gelesen</translation>
    </message>
    <message>
        <source>One token in %1 stands for its neighbours.</source>
        <translation>Eines von %1 Token steht für seine Nachbarn.</translation>
    </message>
    <message>
        <source>Time goes in steps of %1 chunks.</source>
        <translation>Die Zeit geht in Schritten von %1 Chunks.</translation>
    </message>
    <message>
        <source> (coarse)</source>
        <translation> (grob)</translation>
    </message>
</context>
<context>
    <name>palimpsest::ui::TokenRetention</name>
    <message>
        <source>not read yet at that time</source>
        <translation>zu diesem Zeitpunkt noch nicht gelesen</translation>
    </message>
    <message>
        <source>not read yet</source>
        <translation>noch nicht gelesen</translation>
    </message>
    <message>
        <source>held by %1 of %2 layers at that time</source>
        <translation>zu diesem Zeitpunkt von %1 der %2 Schichten gehalten</translation>
    </message>
    <message>
        <source>held by none of %1</source>
        <translation>von keiner der %1 gehalten</translation>
    </message>
    <message>
        <source>held by %1 of %2: layers %3</source>
        <translation>von %1 der %2 gehalten: Schichten %3</translation>
    </message>
    <message>
        <source>rank %1 of %2 in layer %3, head %4</source>
        <translation>Rang %1 von %2 in Schicht %3, Kopf %4</translation>
    </message>
    <message>
        <source>%1 tokens ago</source>
        <translation>vor %1 Token</translation>
    </message>
</context>
<context>
    <name>palimpsest::ui::Tour</name>
    <message>
        <source>&amp;Back</source>
        <translation>&amp;Zurück</translation>
    </message>
    <message>
        <source>&amp;Leave the tour</source>
        <translation>Rundgan&amp;g verlassen</translation>
    </message>
    <message>
        <source>Tour</source>
        <translation>Rundgang</translation>
    </message>
    <message>
        <source>Step %1 of %2</source>
        <translation>Schritt %1 von %2</translation>
    </message>
    <message>
        <source>&amp;Next</source>
        <translation>&amp;Weiter</translation>
    </message>
    <message>
        <source>&amp;Done</source>
        <translation>Fert&amp;ig</translation>
    </message>
    <message>
        <source>%1: %2. %3</source>
        <translation>%1: %2. %3</translation>
    </message>
    <message>
        <source>&amp;Show it</source>
        <translation>&amp;Zeigen</translation>
    </message>
</context>
<context>
    <name>palimpsest::ui::TurnList</name>
    <message>
        <source>An earlier answer, taken back.</source>
        <translation>Eine frühere, zurückgenommene Antwort.</translation>
    </message>
    <message>
        <source>Damaged: this text is not what was stored.</source>
        <translation>Beschädigt: Dieser Text ist nicht der gespeicherte.</translation>
    </message>
    <message>
        <source>Stopped: this answer is not complete.</source>
        <translation>Gestoppt: Diese Antwort ist unvollständig.</translation>
    </message>
    <message>
        <source>Cut at the length limit: this answer is not complete.</source>
        <translation>An der Längengrenze abgeschnitten: Diese Antwort ist unvollständig.</translation>
    </message>
    <message>
        <source>You</source>
        <translation>Sie</translation>
    </message>
    <message>
        <source>Palimpsest, answering</source>
        <translation>Palimpsest, antwortet</translation>
    </message>
    <message>
        <source>Palimpsest</source>
        <translation>Palimpsest</translation>
    </message>
    <message>
        <source>Palimpsest. %1</source>
        <translation>Palimpsest. %1</translation>
    </message>
    <message numerus="yes">
        <source>%1 of %2 tokens read</source>
        <translation>
            <numerusform>%1 von %2 Token gelesen</numerusform>
            <numerusform>%1 von %2 Token gelesen</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%1 kept per head</source>
        <translation>
            <numerusform>%1 je Kopf behalten</numerusform>
            <numerusform>%1 je Kopf behalten</numerusform>
        </translation>
    </message>
    <message>
        <source>%1, %2, %3</source>
        <translation>%1, %2, %3</translation>
    </message>
    <message>
        <source>nothing cut</source>
        <translation>nichts weggelassen</translation>
    </message>
    <message>
        <source>%1 not read yet</source>
        <translation>%1 noch nicht gelesen</translation>
    </message>
    <message>
        <source>Previous answer</source>
        <translation>Vorige Antwort</translation>
    </message>
    <message>
        <source>Next answer</source>
        <translation>Nächste Antwort</translation>
    </message>
    <message>
        <source>Copy</source>
        <translation>Kopieren</translation>
    </message>
    <message>
        <source>Copy as Markdown</source>
        <translation>Als Markdown kopieren</translation>
    </message>
    <message>
        <source>Copy as it was typed</source>
        <translation>Wie eingegeben kopieren</translation>
    </message>
    <message>
        <source>Answer again</source>
        <translation>Neu antworten</translation>
    </message>
    <message>
        <source>Edit and branch</source>
        <translation>Bearbeiten und abzweigen</translation>
    </message>
    <message>
        <source>Show what it rests on</source>
        <translation>Zeigen, worauf sie beruht</translation>
    </message>
    <message>
        <source>%1 tokens read again for this answer; %2 of them were held</source>
        <translation>%1 Token für diese Antwort erneut gelesen; %2 davon waren behalten</translation>
    </message>
    <message>
        <source>Not in the passages that were found: %1</source>
        <translation>In keiner der gefundenen Stellen: %1</translation>
    </message>
    <message>
        <source>The document says: “%1” (%2)</source>
        <translation>Im Dokument steht: „%1“ (%2)</translation>
    </message>
    <message>
        <source>Show the sentence</source>
        <translation>Den Satz zeigen</translation>
    </message>
</context>
<context>
    <name>palimpsest::ui::TurnMenu</name>
    <message>
        <source>What can be done with this turn</source>
        <translation>Was mit diesem Beitrag möglich ist</translation>
    </message>
    <message>
        <source>Copy selected text</source>
        <translation>Ausgewählten Text kopieren</translation>
    </message>
    <message>
        <source>Copy selected lines as Markdown</source>
        <translation>Ausgewählte Zeilen als Markdown kopieren</translation>
    </message>
    <message>
        <source>Select all of it</source>
        <translation>Alles davon auswählen</translation>
    </message>
    <message>
        <source>Copy code block %1</source>
        <translation>Codeblock %1 kopieren</translation>
    </message>
    <message>
        <source>Show all lines</source>
        <translation>Alle Zeilen anzeigen</translation>
    </message>
    <message>
        <source>Sources</source>
        <translation>Quellen</translation>
    </message>
    <message>
        <source>Links</source>
        <translation>Links</translation>
    </message>
    <message>
        <source>%1 (read again)</source>
        <translation>%1 (erneut gelesen)</translation>
    </message>
</context>
<context>
    <name>palimpsest::ui::VisibleText</name>
    <message>
        <source>⟨%1 and %2 more hidden characters⟩</source>
        <translation>⟨%1 und %2 weitere verborgene Zeichen⟩</translation>
    </message>
    <message>
        <source>⟨%1 more combining marks⟩</source>
        <translation>⟨%1 weitere kombinierende Zeichen⟩</translation>
    </message>
</context>
<context>
    <name>palimpsest::ui::WindowDocks</name>
    <message>
        <source>Library</source>
        <translation>Bibliothek</translation>
    </message>
    <message>
        <source>Retained tokens</source>
        <translation>Behaltene Token</translation>
    </message>
    <message>
        <source>Memory</source>
        <translation>Speicher</translation>
    </message>
    <message>
        <source>Policy</source>
        <translation>Policy</translation>
    </message>
    <message>
        <source>Show or hide the area “%1”</source>
        <translation>Bereich „%1“ ein- oder ausblenden</translation>
    </message>
</context>
<context>
    <name>palimpsest::ui::WindowWording</name>
    <message>
        <source>en</source>
        <comment>the code of the language of this translation, such as de</comment>
        <translation>de</translation>
    </message>
</context>
<context>
    <name>palimpsest::ui::Workbench</name>
    <message>
        <source>The device %1 stopped responding. Nothing was lost: it goes on with the processor; restart Palimpsest to use the device again.</source>
        <translation>Das Gerät %1 antwortet nicht mehr. Nichts ging verloren: Es geht mit dem Prozessor weiter; nach einem Neustart von Palimpsest ist das Gerät wieder nutzbar.</translation>
    </message>
    <message>
        <source>A document is being read</source>
        <translation>Ein Dokument wird gelesen</translation>
    </message>
    <message>
        <source>%1 was read</source>
        <translation>%1 wurde gelesen</translation>
    </message>
    <message>
        <source>Reading %1 has stopped</source>
        <translation>Das Lesen von %1 wurde unterbrochen</translation>
    </message>
    <message>
        <source>It can be asked about now.</source>
        <translation>Fragen dazu sind jetzt möglich.</translation>
    </message>
    <message>
        <source>It goes on when its session is opened.</source>
        <translation>Es geht weiter, sobald seine Sitzung geöffnet wird.</translation>
    </message>
    <message>
        <source>What was said is saved now.</source>
        <translation>Das Gesagte ist nun gespeichert.</translation>
    </message>
    <message>
        <source>Retry</source>
        <translation>Erneut versuchen</translation>
    </message>
    <message>
        <source>Read with this model</source>
        <translation>Mit diesem Modell lesen</translation>
    </message>
</context>
<context>
    <name>palimpsest::ui::clear_button</name>
    <message>
        <source>Empty the field</source>
        <translation>Feld leeren</translation>
    </message>
</context>
<context>
    <name>palimpsest::ui::table_text</name>
    <message>
        <source>Copy as CSV</source>
        <translation>Als CSV kopieren</translation>
    </message>
</context>
</TS>
